/** A fenced block of a page. */
export interface DocBlock {
  readonly language: string;
  /** Without the indentation of the fence. */
  readonly text: string;
}

/** A command of a block, as a user pastes it. */
export interface DocStep {
  readonly command: string;
  /** What a console block prints below it; undefined for other blocks and without output. */
  readonly expected: string | undefined;
  /** Whether the page says that the command is refused. */
  readonly isRefused: boolean;
}

/** The fenced blocks of a Markdown text, in their order. */
export function blocksOf(markdown: string): readonly DocBlock[] {
  return [...markdown.matchAll(/^( *)```(\w*)\n(.*?)^\1```$/gms)].map(
    ([, indentation = "", language = "", text = ""]) => ({
      language,
      text: text.replaceAll(new RegExp(`^${indentation}`, "gm"), ""),
    }),
  );
}

/** Whether a block has commands. */
export function hasCommands({ language }: DocBlock): boolean {
  return language === "sh" || language === "console";
}

/** The commands of a block: all lines, or in a console block those behind a prompt. */
export function stepsOf({ language, text }: DocBlock): readonly DocStep[] {
  const lines = text.trimEnd().split("\n");
  const steps: DocStep[] = [];
  while (lines.length > 0) {
    const command = commandIn(lines, language === "console" ? "$ " : "");
    const next = lines.findIndex((line) => line.startsWith("$ "));
    const printed = language === "console" ? lines.splice(0, next === -1 ? Infinity : next) : [];
    if (/^\s*(?:#|$)/.test(command) && !command.includes("\n")) continue;
    const expected = printed.length === 0 ? undefined : printed.join("\n");
    const says = expected ?? /#([^"'#]*)$/.exec(command)?.[1] ?? "";
    steps.push({
      command,
      expected,
      isRefused: /^(?:Error|error:)|\b(?:Forbidden|refused)\b/.test(says.trim()),
    });
  }
  return steps;
}

/** Takes the lines of the next command, which is complete for a shell. */
function commandIn(lines: string[], prompt: string): string {
  const first = lines.shift() ?? "";
  if (!first.startsWith(prompt)) throw new Error(`"${first}" is no command`);
  let command = first.slice(prompt.length);
  while (lines.length > 0 && !isComplete(command)) command += `\n${lines.shift() ?? ""}`;
  return command;
}

function isComplete(command: string): boolean {
  const delimiter = /<<\s*'?(\w+)'?/.exec(command)?.[1];
  if (delimiter !== undefined) return command.endsWith(`\n${delimiter}`);
  if (/(?:\\|\||&&)$/.test(command)) return false;
  const quotes = command.replaceAll(/\\.|'[^']*'|"(?:\\.|[^"\\])*"|#.*$/gm, "");
  return !/['"]/.test(quotes) && /\bdo\b/.test(quotes) === /\bdone\b/.test(quotes);
}

/** What of a printed text may differ from run to run, and how. */
const varying: readonly (readonly [part: RegExp, pattern: string])[] = [
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/, String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`],
  [/(?<![\w.-])\d+[smhd](?:\d+[smhd])?(?![\w.-])/, String.raw`\d+[smhd](?:\d+[smhd])?`],
  [/127\.0\.0\.1:\d+/, String.raw`127\.0\.0\.1:\d+`],
  [/(?<=-)[0-9a-f]{16}(?![0-9a-f])/, "[0-9a-f]{16}"],
  [/\s*\.\.\.\s*/, ".*"],
  [/\s+/, String.raw`\s+`],
];
const parts = new RegExp(varying.map(([{ source }]) => `(${source})`).join("|"), "g");

/**
 * Whether a command printed what a page shows: ages, times, ports and digests differ, `...` is any
 * text, alone on a line any lines. JSON is compared as a value.
 */
export function isPrinted(expected: string, printed: string): boolean {
  const lines = laidOut(expected)
    .trim()
    .split("\n")
    .map((line) => line.trimEnd());
  const pattern = lines
    .map((line) => (line === "..." ? String.raw`[^]*` : patternOf(line)))
    .join("\n");
  const text = laidOut(printed)
    .trim()
    .replaceAll(/[ \t]+$/gm, "");
  return new RegExp(`^${pattern}$`).test(text);
}

function patternOf(line: string): string {
  let pattern = "";
  let end = 0;
  for (const match of line.matchAll(parts)) {
    const kind = match.slice(1).findIndex((group) => group !== undefined);
    pattern += escaped(line.slice(end, match.index)) + (varying[kind]?.[1] ?? "");
    end = match.index + match[0].length;
  }
  return pattern + escaped(line.slice(end));
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** JSON in one layout; another text as it is. */
function laidOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}
