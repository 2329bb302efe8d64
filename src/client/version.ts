import { serverVersion } from "../kube/client/server-version.ts";
import { latchkeyVersion } from "../runtime/latchkey-version.ts";
import type { Action } from "./cli.ts";
import { printable } from "./failure.ts";
import { resultText } from "./output.ts";

/** `kubectl latchkey version`. */
export const printVersion: Action<"version"> = async ({ flags }, cli) => {
  const { terminal } = cli;
  const kubernetes = flags.client
    ? undefined
    : await serverVersion((await cli.connect(flags)).transport);
  const content = {
    client: latchkeyVersion,
    ...(kubernetes === undefined ? {} : { kubernetes }),
  };
  terminal.print(
    resultText(flags.output, content, () =>
      Object.entries(content)
        .map(([name, version]) => `${name}: ${printable(version)}\n`)
        .join(""),
    ),
  );
};
