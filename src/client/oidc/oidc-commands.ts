import type { Command } from "../../cli/command.ts";
import { fileOption, switchOption, tokenAudience, variableName } from "../option-values.ts";

/** Commands about tokens of other issuers, which stand for a key. */
export const oidcCommands = {
  credential: {
    name: "credential",
    brief: "Print the token of a CI job as an ExecCredential, for the exec plugin of a kubeconfig",
    details: [
      "An access key without a secret accepts the token: its issuer and its claims decide. " +
        "The command checks the form, the audience and the end of the token, and not its " +
        "signature. It sends no request to a cluster.",
      "--from-github requests a token from the runner of GitHub Actions, where the job needs " +
        "permissions: id-token: write.",
    ],
    arguments: [],
    options: {
      audience: {
        value: "<text>",
        help: "audience of the token: <audience of the issuer>/<name of the key>",
        parse: tokenAudience,
      },
      fromGithub: switchOption({ help: "request the token from the runner of GitHub Actions" }),
      fromFile: fileOption({ help: "file with the token" }),
      fromVariable: {
        value: "<name>",
        help: "environment variable with the token",
        parse: variableName,
      },
    },
    connects: false,
    examples: [
      "kubectl latchkey credential --audience=https://latchkey.example.com/ci --from-github",
      "kubectl latchkey credential --audience=https://latchkey.example.com/ci " +
        "--from-variable=LATCHKEY_TOKEN",
    ],
  },
} as const satisfies Readonly<Record<string, Command>>;
