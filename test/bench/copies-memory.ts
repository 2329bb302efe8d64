import { execFileSync } from "node:child_process";
import { imageNodeFlags } from "../support/image.ts";
import { numberAt } from "../../src/api/parse.ts";
import type { Row } from "./report.ts";

/** SharedSecrets, each with a copy in as many namespaces. */
export interface ManyCopies {
  readonly sources: number;
  readonly targets: number;
}

const program = new URL("copies-memory-main.ts", import.meta.url).pathname;

/**
 * The memory of a process with the informers of the controller, which list these objects without an
 * API server.
 */
export function copiesMemoryRows({ sources, targets }: ManyCopies): readonly Row[] {
  const flags = [...imageNodeFlags(), "--expose-gc"];
  const output = execFileSync("node", [...flags, program, String(sources), String(targets)], {
    encoding: "utf8",
    maxBuffer: 1024 * 1024,
  });
  const seen: unknown = JSON.parse(output);
  const at = (name: string): number => numberAt(seen, name) ?? Number.NaN;
  const copies = sources * targets;
  const perObject = (name: string, count: number): string =>
    `${Math.round((at(name) * 2 ** 20) / count)} bytes each`;
  const row = (name: string, measured: number, note: string): Row => ({
    name,
    measured,
    unit: "MB",
    note,
  });
  return [
    row("memory of the program without objects, resident", at("base"), ""),
    row(`heap of ${sources} SharedSecrets`, at("sources"), perObject("sources", sources)),
    row(`heap of ${copies} copies`, at("copies"), perObject("copies", copies)),
    {
      ...row(
        `memory with ${sources} + ${copies} objects, resident`,
        at("resident"),
        `peak ${Math.round(at("peak"))} MB`,
      ),
      wanted: "< 600 MB",
      met: at("resident") < 600,
    },
  ];
}
