import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ImportClosure } from "../run/import-closure.ts";

/**
 * A program of src, and what no file that it loads may be below. Tables of options are not meant:
 * they import nothing of their program.
 */
interface Program {
  readonly name: string;
  /** Its first file, below src. */
  readonly start: string;
  readonly without: readonly string[];
}

/** What each program may not load, so that a change of one needs no knowledge of another. */
export const programs: readonly Program[] = [
  {
    name: "controller",
    start: "controllers/run-controller.ts",
    without: ["cli/", "client/", "gateway/"],
  },
  {
    name: "cluster agent",
    start: "controllers/run-cluster-agent.ts",
    without: [
      "authn/",
      "cli/",
      "client/",
      "domain/grants/",
      "domain/scope/",
      "domain/shared-secret/",
    ],
  },
  {
    name: "webhook",
    start: "webhooks/run-webhook.ts",
    without: ["cli/", "client/", "controllers/"],
  },
  {
    name: "gateway",
    start: "gateway/run-gateway.ts",
    without: ["cli/", "client/", "controllers/"],
  },
  {
    name: "direct endpoint",
    start: "gateway/run-direct-endpoint.ts",
    without: ["cli/", "client/", "controllers/"],
  },
  {
    name: "client",
    start: "client/main.ts",
    without: ["authn/", "controllers/", "gateway/", "webhooks/"],
  },
];

const root = fileURLToPath(new URL("../../src/", import.meta.url));

/** The files below src that a program loads; with `types`, also those that it only names. */
export function filesOfProgram(
  { start }: Pick<Program, "start">,
  { types }: { readonly types: boolean },
): readonly string[] {
  const all = new ImportClosure({ types }).of([`${root}${start}`]);
  return [...all].map((path) => path.slice(root.length)).sort();
}

/** The lines of these files of src. */
export function linesOf(paths: readonly string[]): number {
  return paths.reduce(
    (sum, path) => sum + readFileSync(`${root}${path}`, "utf8").trimEnd().split("\n").length,
    0,
  );
}
