/** The paths below the repository that a page of Markdown names in backticks. */
export function pathsIn(page: string): readonly string[] {
  return spansIn(page).filter((span) =>
    /^(?:src|test|release|docs|crds|config)\/[\w/.-]+$/.test(span),
  );
}

/** What a page of Markdown has in backticks, outside of its blocks. */
export function spansIn(page: string): readonly string[] {
  const text = page.replaceAll(/^ *```.*?^ *```/gms, "");
  return [...text.matchAll(/`([^`]+)`/g)].map(([, span = ""]) => span);
}

/** The lines of the `ts` blocks of a page of Markdown, without their indentation. */
export function quotesIn(page: string): readonly string[] {
  return [...page.matchAll(/^ *```ts\n([^]*?)^ *```/gm)].flatMap(([, block = ""]) =>
    linesOf(block),
  );
}

/** The quotes of a page that are no line of any of these files. */
export function strayQuotes(page: string, files: readonly string[]): readonly string[] {
  const lines = new Set(files.flatMap(linesOf));
  return quotesIn(page).filter((quote) => !lines.has(quote));
}

function linesOf(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
