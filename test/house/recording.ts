import { type DocBlock, stepsOf } from "../support/doc-blocks.ts";

/** Pixels. */
const [lineHeight, characterWidth, margin] = [19, 7.83, 16];
const typedPerSecond = 28;
/** Seconds: after a command is typed, after its output, and before the recording starts again. */
const [beforeOutput, afterOutput, atEnd] = [0.3, 1.1, 5];
/** Seconds of the end that are shown first: the page opens with the whole text. */
const shownFirst = 3;

interface Line {
  readonly text: string;
  /** Whether it appears character by character. */
  readonly isTyped: boolean;
  /** Seconds from the start at which it begins to appear. */
  readonly at: number;
}

/**
 * A console block as the recording of a terminal: an SVG of its own in which each command is typed
 * and its output follows. Where a reader prefers reduced motion, all lines are shown at once.
 */
export function recordingOf(block: DocBlock, title: string): string {
  const lines: Line[] = [];
  let now = 0.5;
  for (const { command, expected } of stepsOf(block)) {
    lines.push({ text: `$ ${command}`, isTyped: true, at: now });
    now += command.length / typedPerSecond + beforeOutput;
    for (const text of (expected ?? "").split("\n").filter((line) => line !== ""))
      lines.push({ text, isTyped: false, at: now });
    now += afterOutput;
  }
  const length = now + atEnd;
  const columns = Math.max(...lines.map(({ text }) => text.length));
  const [width, height] = [
    Math.ceil(columns * characterWidth + 2 * margin),
    lines.length * lineHeight + 2 * margin,
  ];
  const percent = (seconds: number) => `${((100 * seconds) / length).toFixed(2)}%`;
  const rules = lines.map(({ text, isTyped, at }, index) => {
    const until = at + (isTyped ? text.length / typedPerSecond : 0.01);
    return [
      `.l${index} { animation: l${index} ${length.toFixed(1)}s ${isTyped ? `steps(${text.length})` : "step-end"} ${(shownFirst - length).toFixed(1)}s infinite; }`,
      `@keyframes l${index} { 0%, ${percent(at)} { clip-path: inset(0 100% 0 0); } ${percent(until)}, 100% { clip-path: inset(0 0 0 0); } }`,
    ].join("\n    ");
  });
  const texts = lines.map(({ text, isTyped }, index) => {
    const y = margin + (index + 0.75) * lineHeight;
    return `<text class="l${index}${isTyped ? " typed" : ""}" x="${margin}" y="${y}" xml:space="preserve">${escaped(text)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
  <style>
    rect { fill: #1b1f24; }
    text { fill: #c9d1d9; font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
    .typed { fill: #7ee787; }
    ${rules.join("\n    ")}
    @media (prefers-reduced-motion: reduce) { text { animation: none !important; } }
  </style>
  <rect width="${width}" height="${height}" rx="8"/>
  ${texts.join("\n  ")}
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
