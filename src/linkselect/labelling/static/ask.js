// Keyboard shortcuts, and page updates without reloading. The page also works without this script.
"use strict";

(() => {
  const said = document.getElementById("said");
  const alarm = document.getElementById("alarm");
  const SOON = 200;
  const SLOW = 2000;
  const LOST = "linkselect does not respond, so the last answer was not saved. If it has stopped, start it again in the same way: it resumes after the last saved answer, at a new address.";
  const OLD = "This address belongs to an earlier session of linkselect, so the last answer was not saved. Open the current address, or start linkselect again if it has stopped.";
  const FAILED = "This failed because of an error in linkselect. Try again, or restart linkselect if the error persists: earlier answers are saved.";
  // Windows have names, so that they receive different questions. A reloaded window keeps its name.
  const WINDOW = "linkselect-window";
  let name = String(Math.random());
  try {
    const [loaded] = performance.getEntriesByType("navigation");
    if (loaded?.type === "reload") name = window.sessionStorage.getItem(WINDOW) ?? name;
    window.sessionStorage.setItem(WINDOW, name);
  } catch { /* storage is blocked: a new name each time */ }
  const headers = { "x-window": name };
  let busy = false;
  let timer = null;

  const main = () => document.getElementById("content");

  const show = (element) => {
    for (const hidden of element.querySelectorAll("[data-needs-script]")) hidden.hidden = false;
  };

  const complain = (text) => {
    alarm.textContent = text;
    alarm.hidden = text === "";
  };

  // Replace the content by that of another page, and focus its heading as after a page load.
  const take = (text, address) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    const content = page.getElementById("content");
    if (!content) { window.location.assign(address); return; }
    document.title = page.title;
    main().replaceWith(document.adoptNode(content));
    document.querySelector("header nav").replaceWith(document.adoptNode(page.querySelector("header nav")));
    show(document);
    const note = main().querySelector("[data-say]")?.textContent.trim() ?? "";
    const heading = main().querySelector("h1");
    const number = main().querySelector(".number-of")?.textContent ?? "";
    said.textContent = [note, number].filter(Boolean).join(" ");
    heading?.focus({ preventScroll: true });
    if (heading && heading.getBoundingClientRect().top < 0) main().scrollIntoView();
    again();
  };

  const fault = (response) => response.status === 404 || response.status === 421 ? OLD : FAILED;

  const go = async (address, options, remember) => {
    if (busy) return;
    busy = true;
    document.documentElement.classList.add("waiting");
    try {
      const response = await fetch(address, { ...options, headers });
      const text = await response.text();
      // Not one of our pages: keep the question, so that it can be answered again.
      if (!response.ok && !text.includes('id="content"')) { complain(fault(response)); return; }
      complain("");
      take(text, response.url);
      if (remember) window.history.pushState(null, "", response.url);
      else if (response.redirected) window.history.replaceState(null, "", response.url);
    } catch {
      complain(LOST);
    } finally {
      busy = false;
      document.documentElement.classList.remove("waiting");
    }
  };

  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-swap]");
    if (!form) return;
    event.preventDefault();
    const fields = new URLSearchParams(new FormData(form, event.submitter));
    const address = new URL(form.getAttribute("action"), document.baseURI);
    if (form.method === "get") {
      address.search = fields;
      go(address, {}, false);
    } else go(address, { method: "POST", body: fields }, false);
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-swap]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(link.href, {}, true);
  });

  window.addEventListener("popstate", () => go(window.location.href, {}, false));

  // Press the button that names the key, except in text fields or with a modifier key.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || busy) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select")) return;
    if (!document.getElementById("keys").checked) return;
    const wanted = [...document.querySelectorAll("[data-key]")].reverse();
    const target = wanted.find((one) => one.dataset.key === event.key.toLowerCase() && !one.disabled);
    if (!target) return;
    event.preventDefault();
    target.click();
  });

  const keys = document.getElementById("keys");
  const KEY = "linkselect-keys";
  // Browsers may block storage inside a notebook.
  try { keys.checked = window.localStorage.getItem(KEY) !== "off"; } catch { /* this page only */ }
  keys.addEventListener("change", () => {
    try { window.localStorage.setItem(KEY, keys.checked ? "on" : "off"); } catch { /* this page only */ }
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(text.textContent);
      said.textContent = "Copied.";
      button.textContent = "Copied";
    } catch {
      window.getSelection().selectAllChildren(text);
      button.textContent = "Selected, press Ctrl+C";
    }
  });

  // Poll for results that are being computed, at growing intervals.
  const look = async (delay) => {
    const later = Math.min(2 * delay, SLOW);
    const waiting = document.querySelector("[data-again]");
    if (!waiting || busy) { again(later); return; }
    const what = waiting.dataset.again;
    try {
      const response = await fetch(what);
      const text = await response.text();
      if (!waiting.isConnected) return;
      if (!response.ok) { complain(fault(response)); again(later); return; }
      if (what === "insight") {
        // A page fragment from our server, with all names escaped.
        const part = new DOMParser().parseFromString(text, "text/html");
        const checked = () => waiting.querySelector(".estimate")?.textContent.trim() ?? "";
        const before = checked();
        const isNew = part.body.innerHTML.trim() !== waiting.innerHTML.trim();
        if (isNew) waiting.replaceChildren(...document.adoptNode(part.body).childNodes);
        if (checked() !== before) said.textContent = checked();
        if (response.headers.get("x-busy") !== "yes") delete waiting.dataset.again;
      } else {
        // The report may be ready before the last check.
        const isNew = text.includes('id="open-report"') && !document.getElementById("open-report");
        if (isNew || response.headers.get("x-busy") !== "yes") take(text, response.url);
      }
      complain("");
    } catch {
      complain(LOST);
    }
    again(later);
  };

  const again = (delay = SOON) => {
    window.clearTimeout(timer);
    if (document.querySelector("[data-again]")) timer = window.setTimeout(look, delay, delay);
  };

  // The first request has no window name, so another window may show the same question.
  const claim = async () => {
    const pair = (content) => [..."ab"].map((side) => content?.querySelector(`input[name=${side}]`)?.value).join();
    const shown = main();
    const asked = pair(shown);
    try {
      const response = await fetch(window.location.href, { headers });
      const text = await response.text();
      const other = new DOMParser().parseFromString(text, "text/html").getElementById("content");
      if (response.ok && !busy && shown.isConnected && pair(other) !== asked) take(text, response.url);
    } catch { /* answering will report the problem */ }
  };

  show(document);
  again();
  if (document.querySelector("form.buttons input[name=a]")) claim();
})();
