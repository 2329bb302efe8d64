import { readFileSync } from "node:fs";
import { budgetsIn, linesOfProducts } from "./products.ts";
import { filesOfProgram, linesOf, programs } from "./programs.ts";
import { exportedNames, importedBy, roomOf, type SourceFile, sourceFiles } from "./source-files.ts";

/**
 * `npm run --silent figures`: the size of each directory of `src`, of each product, and of what each
 * program loads.
 */

const inSource = new Set(sourceFiles.flatMap((file) => importedBy(file, "")));
/** Lines that do something: no import, type, comment or closing bracket. */
function contentOf({ code }: SourceFile): number {
  const statements = code.replaceAll(
    /^import\s[^;]*;$|^(?:export )?(?:interface \w+[^]*?^\}|type \w+[^]*?;)$/gm,
    "",
  );
  return statements.split("\n").filter((line) => /[^\s()[\]{}<>;,]/.test(line)).length;
}

/** Functions and methods of more lines than that, found by their indentation. */
function longFunctions({ code }: SourceFile, most: number): number {
  const functions = code.matchAll(
    /^( *)(?:export )?(?:async )?(?:function\b|(?!if|for|while|switch|return)[#\w]+\().*\{\n(?:\1 .*\n|\n|\1\).*\{\n)*\1\}/gm,
  );
  return [...functions].filter(([text]) => text.split("\n").length > most).length;
}

function figuresOf(files: readonly SourceFile[]): readonly (string | number)[] {
  const lines = files.flatMap(({ text }) => text.trimEnd().split("\n"));
  const content = files.map(contentOf).reduce((sum, count) => sum + count, 0);
  const isInSource = (name: string) =>
    inSource.has(name) || inSource.has(name.replace(/#.*/, "#*"));
  const onlyTested = files.flatMap(exportedNames).filter((name) => !isInSource(name));
  return [
    files.length,
    lines.length,
    `${Math.round((100 * content) / lines.length)} %`,
    files.filter(({ text }) => text.trimEnd().split("\n").length < 40).length,
    files.filter(({ text }) => text.trimEnd().split("\n").length > 300).length,
    ...[40, 60].map((most) =>
      files.map((file) => longFunctions(file, most)).reduce((sum, count) => sum + count, 0),
    ),
    onlyTested.length,
  ];
}

const columns = [
  ...["files", "lines", "content", "files under 40 lines", "files over 300"],
  ...["functions over 40", "functions over 60", "only tested"],
];
const rows = [
  ...Map.groupBy(sourceFiles, ({ path }) => roomOf(path)),
  ["all", sourceFiles] as const,
];
process.stdout.write(
  [
    `| directory | ${columns.join(" | ")} |`,
    `| --- |${" ---: |".repeat(columns.length)}`,
    ...rows.map(([room, files]) => `| ${room} | ${figuresOf(files).join(" | ")} |`),
    "",
  ].join("\n"),
);

const budgets = budgetsIn(readFileSync(new URL("../../CONTRIBUTING.md", import.meta.url), "utf8"));
const products = [...linesOfProducts(sourceFiles)];
process.stdout.write(
  [
    "\n| product | lines | at most |",
    "| --- | ---: | ---: |",
    ...products.map(([name, lines]) => `| ${name} | ${lines} | ${budgets.get(name) ?? "-"} |`),
    "",
  ].join("\n"),
);

process.stdout.write(
  [
    "\n| program | files | lines loaded | with what only types import |",
    "| --- | ---: | ---: | ---: |",
    ...programs.map((program) => {
      const [loaded, named] = [false, true].map((types) => filesOfProgram(program, { types }));
      const lines = [loaded ?? [], named ?? []].map(linesOf);
      return `| ${program.name} | ${loaded?.length} | ${lines.join(" | ")} |`;
    }),
    "",
  ].join("\n"),
);
