"use strict";

// Elements that need this script are hidden until it runs.
for (const element of document.querySelectorAll("[data-needs-script]")) element.hidden = false;

// Light or dark theme: that of the system until the reader chooses one.
(() => {
  const root = document.documentElement;
  const button = document.querySelector("[data-theme-toggle]");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const KEY = "linkselect-theme";
  // Browsers may deny storage to local files.
  const recall = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem(KEY, theme); } catch { /* this page only */ } };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  const chosen = recall();
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
  button.hidden = false;
  button.setAttribute("aria-label", "Switch between light and dark");
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  show();
})();

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      window.getSelection().selectAllChildren(text);
      button.textContent = "Selected, press Ctrl+C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

// Downloads: figures in light colours as SVG, tables as CSV.
const save = (text, name, type) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
const csv = (rows) => {
  const quoted = (cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return rows.map((row) => row.map((cell) => quoted(String(cell ?? ""))).join(",")).join("\n") + "\n";
};

for (const button of document.querySelectorAll("[data-save-picture]")) {
  button.addEventListener("click", () => {
    const colours = JSON.parse(document.documentElement.dataset.colours);
    const picture = button.closest("figure").querySelector("svg").cloneNode(true);
    const [, , width, height] = picture.getAttribute("viewBox").split(" ");
    picture.removeAttribute("style");
    picture.setAttribute("width", `${width}pt`);
    picture.setAttribute("height", `${height}pt`);
    picture.setAttribute("font-family", "Arial, Helvetica, DejaVu Sans, sans-serif");
    const text = new XMLSerializer().serializeToString(picture);
    const light = text.replace(/var\((--[a-z0-9-]+)\)/g, (whole, name) => colours[name] ?? whole);
    save(light, `${button.dataset.savePicture}.svg`, "image/svg+xml");
  });
}

for (const button of document.querySelectorAll("[data-save-table]")) {
  button.addEventListener("click", () => {
    const table = document.getElementById(button.dataset.saveTable);
    const rows = [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
    save(csv(rows), `${button.dataset.saveTable}.csv`, "text/csv");
  });
}

// The table of features; the document contains only the rows of the current page.
(() => {
  const source = document.getElementById("ranking-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const table = document.getElementById("features");
  const body = table.tBodies[0];
  const filter = document.getElementById("filter");
  const onlySelected = document.getElementById("only-selected");
  const names = data.feature.map((name) => name.toLowerCase());
  const collator = new Intl.Collator("en", { numeric: true });
  const state = { key: "rank", descending: false, page: 0 };
  let rows = [];

  const number = (score) => (typeof score === "string" ? Number(score.replace("inf", "Infinity")) : score);
  const scores = data.score.map(number);
  const written = (score) => {
    if (score === null) return "no score";
    if (!Number.isFinite(score)) return score > 0 ? "∞" : "−∞";
    const size = Math.abs(score);
    const short = size !== 0 && (size < 1e-4 || size >= 1e4) ? score.toExponential(3) : score.toPrecision(4);
    return short.replaceAll("-", "−");
  };
  const share = (score) => {
    if (score === null || data.worst === data.best) return "0%";
    return `${100 * Math.min(1, Math.max(0, (score - data.worst) / (data.best - data.worst)))}%`;
  };

  // Comparing text is slow, so names are sorted once, when first needed.
  let places = null;
  const place = (row) => {
    if (places === null) {
      const order = names.map((_, other) => other);
      order.sort((a, b) => collator.compare(data.feature[a], data.feature[b]));
      places = new Int32Array(order.length);
      order.forEach((other, where) => { places[other] = where; });
    }
    return places[row];
  };

  // The columns other than the score.
  const measures = ["frequency", "p_value", "adjusted", "q_value"].filter((key) => data[key]);
  const compare = {
    rank: (a, b) => data.rank[a] - data.rank[b],
    feature: (a, b) => place(a) - place(b),
    score: (a, b) => (scores[a] === scores[b] ? 0 : scores[a] - scores[b]),
    selected: (a, b) => data.selected[b] - data.selected[a],
    ...Object.fromEntries(measures.map((key) => [key, (a, b) => data[key][a] - data[key][b]])),
  };

  const choose = () => {
    const wanted = filter.value.trim().toLowerCase();
    const kept = [];
    for (let row = 0; row < names.length; row += 1) {
      if (onlySelected.checked && !data.selected[row]) continue;
      if (wanted === "" || names[row].includes(wanted)) kept.push(row);
    }
    const sign = state.descending ? -1 : 1;
    const values = { score: scores }[state.key];
    const missing = (row) => Number(values !== undefined && values[row] === null);
    // Missing values come last in both directions; ties keep the order of ranks.
    kept.sort((a, b) => missing(a) - missing(b) || (missing(a) ? 0 : sign * compare[state.key](a, b)) || data.rank[a] - data.rank[b]);
    rows = kept;
  };

  const cell = (text, className) => {
    const element = document.createElement("td");
    element.textContent = text;
    if (className) element.className = className;
    return element;
  };

  const line = (row) => {
    const element = document.createElement("tr");
    if (data.selected[row]) element.className = "selected";
    const name = cell(data.feature[row], "name");
    name.dir = "auto";
    // On phones, this text replaces columns.
    if (data.more) name.dataset.more = data.more[row];
    const score = cell(written(scores[row]), "number bar");
    score.style.setProperty("--share", share(scores[row]));
    const rank = cell(data.rank[row].toLocaleString("en"), "number");
    const reason = cell(data.reason[row], "name");
    reason.dir = "auto";
    element.append(rank, name, score, reason);
    for (const key of measures) element.append(cell(data[key][row].toFixed(key === "frequency" ? 2 : 3), "number"));
    if (data.twins) {
      const twins = cell(data.twins[row] ?? "", "name");
      twins.dir = "auto";
      element.append(twins);
    }
    return element;
  };

  const show = () => {
    const size = data.rows_per_page;
    const pages = Math.max(1, Math.ceil(rows.length / size));
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const start = state.page * size;
    body.replaceChildren(...rows.slice(start, start + size).map(line));
    const many = (count) => count.toLocaleString("en");
    const end = Math.min(start + size, rows.length);
    document.getElementById("shown").textContent = rows.length
      ? `${many(start + 1)} to ${many(end)} of ${many(rows.length)} features`
      : "no feature matches the filter";
    document.getElementById("page").textContent = `Page ${many(state.page + 1)} of ${many(pages)}`;
    const atStart = state.page === 0;
    const atEnd = state.page === pages - 1;
    for (const button of document.querySelectorAll("[data-page]")) {
      button.disabled = ["first", "previous"].includes(button.dataset.page) ? atStart : atEnd;
    }
    document.querySelector(".pages").hidden = pages === 1;
    for (const button of table.tHead.querySelectorAll("button")) {
      const header = button.closest("th");
      if (button.dataset.key !== state.key) header.removeAttribute("aria-sort");
      else header.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
    }
  };

  document.querySelector("[data-save-ranking]").addEventListener("click", () => {
    const keys = ["rank", "feature", "score", "selected", ...measures, "reason", "twins"].filter((key) => data[key]);
    save(csv([keys, ...names.map((_, row) => keys.map((key) => data[key][row]))]), "ranking.csv", "text/csv");
  });

  const restart = () => { state.page = 0; choose(); show(); };

  for (const button of table.tHead.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      state.descending = state.key === button.dataset.key && !state.descending;
      state.key = button.dataset.key;
      restart();
    });
  }
  filter.addEventListener("input", restart);
  onlySelected.addEventListener("change", restart);
  for (const button of document.querySelectorAll("[data-page]")) {
    button.addEventListener("click", () => {
      state.page = { first: 0, previous: state.page - 1, next: state.page + 1, last: Infinity }[button.dataset.page];
      show();
    });
  }
  restart();
})();
