import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "./install.ts";

/** The flags of Node in the image, from the Dockerfile. */
export function imageNodeFlags(): readonly string[] {
  const [, command] =
    /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync(join(repository, "Dockerfile"), "utf8")) ?? [];
  const words: unknown = JSON.parse(command ?? "[]");
  const flags = Array.isArray(words)
    ? words.filter((word) => typeof word === "string" && word.startsWith("--"))
    : [];
  if (flags.length === 0)
    throw new Error("the Dockerfile's ENTRYPOINT gives Node no flags any more");
  return flags;
}
