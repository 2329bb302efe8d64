import { join } from "node:path";
import { buildModule, type GoModule } from "./go-module.ts";
import { type LineProgram, startLineProgram } from "./line-program.ts";

/** The program behind the readers. */
export const readersModule: GoModule = {
  directory: join(import.meta.dirname, "text-readers"),
  name: "text readers",
  takes: "20 seconds",
  packages: ".",
};

/**
 * Starts the program that reads derived texts with godotenv, Compose and encoding/json, and builds
 * it if necessary.
 */
export async function startTextReaders(report: (line: string) => void): Promise<LineProgram> {
  const programs = await buildModule(readersModule, { report });
  return startLineProgram([join(programs, "text-readers")]);
}
