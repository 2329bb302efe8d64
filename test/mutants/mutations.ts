/** A small change of a source text that a test should detect. */
export interface Mutation {
  /** 1 is the first line. */
  readonly line: number;
  /** The text that is replaced; `after` is the replacement. */
  readonly before: string;
  readonly after: string;
  /** The whole text with the change. */
  readonly text: string;
}

interface Operator {
  readonly pattern: RegExp;
  readonly replace: (found: string) => string;
}

const swapped = (one: string, other: string): Operator => ({
  pattern: new RegExp(`${escaped(one)}|${escaped(other)}`, "g"),
  replace: (found) => (found === one ? other : one),
});

/** Inverted conditions, swapped list predicates and changed literals, as in typical mistakes. */
const operators: readonly Operator[] = [
  swapped("&&", "||"),
  swapped(" === ", " !== "),
  swapped(".some(", ".every("),
  swapped(" > ", " <= "),
  { pattern: /\b(?:true|false)\b/g, replace: (found) => (found === "true" ? "false" : "true") },
  // A negation, but not a non-null assertion and not an inequality.
  { pattern: /!(?=[\w(])(?!=)/g, replace: () => "" },
  {
    pattern: /"(?:[^"\\]|\\.)*"/g,
    replace: (found) => (found === '""' ? '"mutant"' : `"mutant${found.slice(1)}`),
  },
];

/** All mutations of a TypeScript source; comments, imports and types stay as they are. */
export function mutationsOf(source: string): readonly Mutation[] {
  const code = source.replaceAll(
    /\/\*[^]*?\*\/|\/\/.*|^(?:import|export type|type) .*$|^(?:export )?interface [^]*?^\}$|^ {2}readonly .*$|^class .*$|\b(?:Pick|Omit)<[^>]*>|\b[A-Z]\w*\["\w+"\]/gm,
    (found) => found.replaceAll(/[^\n]/g, " "),
  );
  return operators.flatMap(({ pattern, replace }) =>
    [...code.matchAll(pattern)].map(({ 0: before, index }) => {
      const after = replace(before);
      const line = source.slice(0, index).split("\n").length;
      return {
        line,
        before,
        after,
        text: source.slice(0, index) + after + source.slice(index + before.length),
      };
    }),
  );
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
