import { existsSync } from "node:fs";
import type { Missing } from "./prepared.ts";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The path of Chromium, or why there is none. */
export function findChromium(): string | Missing {
  const program = [process.env.CHROMIUM ?? "", ...places].find((path) => existsSync(path));
  const fix = "apt-get install chromium, or CHROMIUM=<its path>";
  return program ?? { missing: `no Chromium is installed (${fix})` };
}
