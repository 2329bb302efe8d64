import { execFileSync } from "node:child_process";
import { numberAt } from "../../src/api/parse.ts";
import { imageNodeFlags } from "../support/image.ts";
import type { Bench } from "./bench-fixture.ts";
import { row } from "./report.ts";

const program = new URL("scrape-main.ts", import.meta.url).pathname;

/**
 * The metrics of a process with the informers of the controller, which list these objects without an
 * API server: what a scrape costs.
 */
export function scrape({ size, report }: Bench): Promise<void> {
  const { sources, targets, keys } = size.metrics;
  const amounts = [sources, targets, keys].map(String);
  const output = execFileSync("node", [...imageNodeFlags("controller"), program, ...amounts], {
    encoding: "utf8",
  });
  const seen: unknown = JSON.parse(output);
  const at = (name: string): number => numberAt(seen, name) ?? Number.NaN;
  const beside = `${sources} SharedSecrets, ${sources * targets} copies, ${keys} keys`;
  report([
    row("series of the controller", [at("series"), ""], {
      goal: "<= 1500",
      note: `${beside}; ${at("named")} name an object`,
    }),
    row("bytes of a scrape of the controller", [at("bytes"), "bytes"], { note: beside }),
    row("scrape of the controller", [at("median"), "ms p50"], {
      goal: "< 50 ms",
      note: `the longest ${at("most").toFixed(1)} ms`,
    }),
  ]);
  return Promise.resolve();
}
