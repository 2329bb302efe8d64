import { join } from "node:path";
import { buildModule, findGo, type GoModule } from "./go-module.ts";
import { type LineProgram, startLineProgram } from "./line-program.ts";

const textReaders: GoModule = {
  directory: join(import.meta.dirname, "text-readers"),
  name: "text readers",
  takes: "20 seconds",
  packages: ".",
};

/**
 * Starts the program that reads derived texts with godotenv, Compose and encoding/json, and builds
 * it if necessary; undefined if Go is not installed.
 */
export async function startTextReaders(
  report: (line: string) => void,
): Promise<LineProgram | undefined> {
  const go = findGo(textReaders, process.env);
  if (go === undefined) return undefined;
  const programs = await buildModule(textReaders, go, { report });
  return startLineProgram([join(programs, "text-readers")]);
}
