/*
 * Imported by a process of Latchkey that runs from `src`: with each SIGUSR2, and when it ends, it
 * writes the files of `src` in which a function ran since the last time.
 */
import { writeFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector";

const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

function record(): void {
  session.post("Profiler.takePreciseCoverage", (_error, coverage) => {
    const files = coverage.result.flatMap(fileOf);
    const path = process.env["LATCHKEY_FLOWS"];
    if (path !== undefined)
      writeFileSync(`${path}/${process.pid}.json`, JSON.stringify(files.toSorted()));
  });
}

/** A file of `src` in which a function ran; its import alone is none. */
function fileOf({ url, functions }: Profiler.ScriptCoverage): readonly string[] {
  const [, path] = /\/(src\/.*\.ts)$/.exec(url) ?? [];
  const ran = functions.some(
    ({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0,
  );
  return path !== undefined && ran ? [path] : [];
}

process.on("SIGUSR2", record);
process.on("exit", record);
