// Names for elements that the theme and the gallery leave without one, for screen readers.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("button.search-button-field").forEach((button) => {
    button.removeAttribute("aria-label"); // its text is its name
  });
  document.querySelectorAll(".bd-sidenav summary").forEach((summary) => {
    const link = summary.closest("li").querySelector("a");
    summary.setAttribute("aria-label", `Pages below ${link ? link.textContent.trim() : "this"}`);
  });
  document.querySelectorAll(".citation-list > .citation").forEach((citation) => {
    citation.setAttribute("role", "listitem");
  });
  document.querySelectorAll(".sphx-glr-thumbcontainer").forEach((card) => {
    const title = card.querySelector(".sphx-glr-thumbnail-title");
    const link = card.querySelector("a.reference.internal");
    if (title && link) {
      link.setAttribute("aria-label", title.textContent.trim());
    }
  });
});
