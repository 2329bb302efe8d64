import { execFileSync } from "node:child_process";
import { imageNodeFlags } from "../support/image.ts";
import { numberAt } from "../../src/api/parse.ts";
import type { Bench } from "./bench-fixture.ts";
import { row } from "./report.ts";

const program = new URL("copies-memory-main.ts", import.meta.url).pathname;

/**
 * The memory of a process with the informers of the controller, which list these objects without an
 * API server.
 */
export function copiesMemory({ size, report }: Bench): Promise<void> {
  const { sources, targets } = size.memory;
  const flags = [...imageNodeFlags("controller"), "--expose-gc"];
  const measured = (...args: readonly (number | string)[]): unknown =>
    JSON.parse(
      execFileSync("node", [...flags, program, ...args.map(String)], {
        encoding: "utf8",
        maxBuffer: 1024 * 1024,
      }),
    );
  const [seen, following] = [measured(sources, targets), measured(sources, 0, "following")];
  const at = (name: string, from = seen): number => numberAt(from, name) ?? Number.NaN;
  const copies = sources * targets;
  const perObject = (name: string, count: number, from = seen): string =>
    `${Math.round((at(name, from) * 2 ** 20) / count)} bytes each`;
  report([
    row("memory of the program without objects, resident", [at("base"), "MB"], { note: "" }),
    row(`heap of ${sources} SharedSecrets`, [at("sources"), "MB"], {
      note: perObject("sources", sources),
    }),
    row(`heap of ${sources} SharedSecrets that follow Secrets`, [at("sources", following), "MB"], {
      note: perObject("sources", sources, following),
    }),
    row(`heap of ${copies} copies`, [at("copies"), "MB"], { note: perObject("copies", copies) }),
    row(`memory with ${sources} + ${copies} objects, resident`, [at("resident"), "MB"], {
      goal: "< 600 MB",
      note: `peak ${Math.round(at("peak"))} MB`,
    }),
  ]);
  return Promise.resolve();
}
