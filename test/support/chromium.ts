import { existsSync } from "node:fs";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The path of Chromium; undefined if there is none, which is said with what is skipped. */
export function findChromium(skipped: string): string | undefined {
  const program = [process.env.CHROMIUM ?? "", ...places].find((path) => existsSync(path));
  if (program === undefined)
    process.stderr.write(
      `${skipped}: no Chromium is found; install it with apt-get install chromium, or set CHROMIUM to its path\n`,
    );
  return program;
}
