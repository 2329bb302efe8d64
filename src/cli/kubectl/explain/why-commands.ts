import { keyOptions } from "../../../authn/key-options.ts";
import { namespaceOptions } from "../../../controllers/controller-options.ts";
import { parseAsked } from "./asked-kinds.ts";
import type { Command } from "../../command.ts";
import { resultOutput, systemNamespace } from "../connection/connection-options.ts";
import { requestName, requestResource, requestVerb, switchOption } from "../option-values.ts";

const { maximumKeyTtl, userPrefix, teamPrefix } = keyOptions;

/** Commands that explain. */
export const whyCommands = {
  why: {
    name: "why",
    brief: "Explain why a Secret does not arrive, or why a key or token does not work",
    details: [
      "secret/NAME is the copy in the namespace, shsec/NAME a SharedSecret with all its targets, " +
        "oak/NAME an access key, and dcet/NAME a direct token. " +
        "Each answer names the object and the field to change.",
      "oak/NAME VERB RESOURCE [NAME] tells why a request with the key is forbidden: " +
        "what each entry of its scope says, and whether RBAC allows the request to its user. " +
        "RESOURCE is as in a Role, such as deployments.apps or pods/log, or a path.",
      "The command reads as you. If a right is missing, the answer names it and covers " +
        "what you may read. Values of secrets are not printed.",
      "Set the options of the controller here, too, if it runs with them.",
    ],
    arguments: [
      {
        name: "KIND/NAME",
        help: "secret/NAME, shsec/NAME, oak/NAME or dcet/NAME",
        completes: "objects",
        read: (word, option) => {
          parseAsked(word, option);
          return word;
        },
      },
      {
        name: "VERB",
        help: "verb of a request with the key, such as get",
        optional: true,
        read: requestVerb,
      },
      {
        name: "RESOURCE",
        help: "resource or path of the request",
        optional: true,
        read: requestResource,
      },
      {
        name: "NAME",
        help: "name of the object of the request",
        optional: true,
        read: requestName,
      },
    ],
    options: {
      exitCode: switchOption({ help: "exit with 3 if something is wrong" }),
      allNamespaces: switchOption({ alias: "A", help: "the request is for all namespaces" }),
      ...namespaceOptions,
      maximumKeyTtl,
      userPrefix,
      teamPrefix,
      ...systemNamespace,
      ...resultOutput,
    },
    connects: true,
    examples: [
      "kubectl latchkey why secret/database -n web-dev",
      "kubectl latchkey why shsec/database -n team-a --exit-code",
      "kubectl latchkey why oak/ci list secrets -n web-dev",
    ],
  },
} as const satisfies Readonly<Record<string, Command>>;
