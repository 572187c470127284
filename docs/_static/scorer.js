// How the search orders its results: pages that help to do something come before records of why.
const FOLDERS = [
  [/^(start|install|faq|citing|guide|recipes|which_method)/, 3],
  [/^(methods|command_line|glossary|add_a_method|auto_examples)/, 2],
  [/^(api|references)/, 1],
];
var Scorer = {
  score: ([docname, title, , , score, , kind]) => {
    const factor = FOLDERS.find(([pattern]) => pattern.test(docname))?.[1] ?? 0.5;
    const query = new URLSearchParams(window.location.search).get("q") ?? "";
    const words = query.toLowerCase().split(/[^\w]+/).filter(Boolean);
    const named = words.every((word) => title.toLowerCase().includes(word));
    return (score + (named ? 20 : 0) + (kind === "index" ? 5 : 0)) * factor;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
