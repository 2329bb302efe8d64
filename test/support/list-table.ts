/** A list in an annotation: its entries, or the entry that every reader of names refuses. */
export interface ListRow {
  readonly text: string;
  readonly entries: readonly string[];
  readonly bad?: string;
}

/** One syntax for all lists: commas or line breaks, with blanks around entries. */
export const listTable: readonly ListRow[] = [
  { text: "a,b", entries: ["a", "b"] },
  { text: " a ,\tb\t", entries: ["a", "b"] },
  { text: "a\nb\n", entries: ["a", "b"] },
  { text: "  a\r\n  b\r\n", entries: ["a", "b"] },
  { text: "a\rb", entries: ["a", "b"] },
  { text: "a,\n\n , b,", entries: ["a", "b"] },
  { text: "\n", entries: [] },
  { text: " , ,", entries: [] },
  { text: "a b", entries: ["a b"], bad: "a b" },
  { text: "- a\n- b\n", entries: ["- a", "- b"], bad: "- a" },
  { text: "[a, b]", entries: ["[a", "b]"], bad: "[a" },
  { text: "a;b", entries: ["a;b"], bad: "a;b" },
  { text: "b,a\u00a0", entries: ["b", "a\u00a0"], bad: "a\u00a0" },
  { text: "b,\u2028a", entries: ["b", "\u2028a"], bad: "\u2028a" },
  { text: "b,\u0085a", entries: ["b", "\u0085a"], bad: "\u0085a" },
  { text: "a\u000bb", entries: ["a\u000bb"], bad: "a\u000bb" },
  { text: "b,\ufeffa", entries: ["b", "\ufeffa"], bad: "\ufeffa" },
];
