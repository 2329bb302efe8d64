import { text } from "../../runtime/config-values.ts";
import type { Command } from "../../cli/command.ts";
import { dryRun, objectOutput } from "../connection/connection-options.ts";
import { textOptions } from "../objects/text-options.ts";
import {
  choiceOption,
  dataKey,
  sharedSecretName,
  sharedSecretOrKey,
  someText,
  switchOption,
  variablePrefix,
} from "../option-values.ts";

/** The formats in which values are printed. */
const valueFormats = ["value", "json", "yaml", "dotenv", "shell", "name"] as const;

/** A format of {@link valueFormats}. */
export type ValueFormat = (typeof valueFormats)[number];

/** The name of a SharedSecret as an argument. */
export const sharedSecret = {
  name: "NAME",
  help: "name of the SharedSecret",
  completes: "sharedsecrets",
  read: sharedSecretName,
} as const;

const key = { name: "KEY", help: "data key", completes: "datakeys", read: dataKey } as const;

const variableOptions = {
  prefix: {
    value: "<text>",
    help: "name each variable with this text and the data key in upper case",
    parse: variablePrefix,
  },
  only: {
    many: true,
    value: "<key>",
    help: "data key; repeat it for several",
    completes: "datakeys",
    parse: dataKey,
  },
} as const;

/** Whether a listing covers all namespaces. */
export const allNamespaces = {
  allNamespaces: switchOption({ alias: "A", help: "SharedSecrets of all namespaces" }),
} as const;

/** Commands about SharedSecrets. */
export const secretCommands = {
  list: {
    name: "list",
    brief: "List the SharedSecrets that you may read",
    details: [
      "Without the right to list them, the command reads those that your roles name " +
        "(SelfSubjectRulesReview). The output has no value of a secret.",
    ],
    arguments: [],
    options: { ...allNamespaces, ...objectOutput },
    connects: true,
    examples: ["kubectl latchkey list -n team-a", "kubectl latchkey list -A -o name"],
  },
  get: {
    name: "get",
    brief: "Print values of a SharedSecret",
    details: [
      "One value is printed as it is; on a terminal, it has a newline, and its control " +
        "characters are escaped. Values that are no text are base64 under <key>.base64 in json " +
        "and yaml.",
      "NAME.KEY is one word if no SharedSecret has that name.",
      "-o shell and -o dotenv need --only, --prefix or --all, as the command run does.",
    ],
    arguments: [
      { ...sharedSecret, read: sharedSecretOrKey },
      { ...key, optional: true },
    ],
    options: {
      all: switchOption({ help: "all values, which is the default of every output but value" }),
      ...variableOptions,
      output: choiceOption(valueFormats, { alias: "o", help: "output format (default value)" }),
      outputDirectory: {
        value: "<directory>",
        help: "write each value to a file of the name of its key, with mode 0600",
        completes: "files",
        parse: someText,
      },
    },
    connects: true,
    examples: [
      "kubectl latchkey get database DB_PASSWORD",
      "kubectl latchkey get database -o dotenv --prefix=DB_ > .env",
      "kubectl latchkey get tls --output-directory=certificates",
    ],
  },
  set: {
    name: "set",
    brief: "Set values and texts of a SharedSecret, and create it if it does not exist",
    details: [
      "KEY asks for the value without showing it, or reads the standard input; " +
        "KEY=- reads the standard input, and KEY=@FILE a file, byte for byte. " +
        "It needs the right patch, and create for a new object.",
      "A text of the standard input is stored without its final newline, and the command says " +
        "so. An empty value is refused, because the program before a pipe may have failed.",
    ],
    arguments: [
      sharedSecret,
      {
        name: "KEY",
        help: "KEY, KEY=- or KEY=@FILE",
        optional: true,
        many: true,
        completes: "datakeys",
        // --literal decides what it may be.
        read: text,
      },
    ],
    options: {
      fromFile: {
        many: true,
        value: "<[key=]file>",
        help: "file with a value; its name is the key",
        completes: "files",
        parse: someText,
      },
      fromEnvFile: {
        many: true,
        value: "<file>",
        help: "file with lines of NAME=value",
        completes: "files",
        parse: someText,
      },
      literal: switchOption({
        help:
          "accept KEY=VALUE; other users of the machine and your shell history then have the " +
          "value",
      }),
      allowEmpty: switchOption({ help: "accept empty values" }),
      keepNewline: switchOption({ help: "store the final newline of the standard input" }),
      ...textOptions,
      ...dryRun,
    },
    connects: true,
    examples: [
      "kubectl latchkey set database DB_PASSWORD",
      "kubectl latchkey set tls tls.crt=@server.crt tls.key=@server.key",
      "kubectl latchkey set database --display-name='Orders database'",
      "openssl rand -base64 24 | kubectl latchkey set database DB_PASSWORD=-",
    ],
  },
  unset: {
    name: "unset",
    brief: "Remove values of a SharedSecret",
    arguments: [sharedSecret, { ...key, many: true }],
    options: dryRun,
    connects: true,
    examples: ["kubectl latchkey unset database OLD_PASSWORD"],
  },
  edit: {
    name: "edit",
    brief: "Edit the values of a SharedSecret in an editor",
    details: [
      "The editor is KUBE_EDITOR, VISUAL, EDITOR or vi. " +
        "It gets a file with mode 0600 in a private directory, below XDG_RUNTIME_DIR if that " +
        "is set, which is removed afterwards. If values changed on the server meanwhile, " +
        "the editor opens again. Settings of your editor may keep copies elsewhere, " +
        "such as undo files.",
    ],
    arguments: [sharedSecret],
    options: {},
    connects: true,
    examples: ["kubectl latchkey edit database -n team-a"],
  },
  delete: {
    name: "delete",
    brief: "Delete SharedSecrets, and with them all their copies and what they grant",
    details: ["The command waits until the objects are gone, which takes some seconds."],
    arguments: [{ ...sharedSecret, many: true }],
    options: dryRun,
    connects: true,
    examples: ["kubectl latchkey delete old-database -n team-a"],
  },
  run: {
    name: "run",
    brief: "Run a program with the values of SharedSecrets in its environment",
    details: [
      "Values of a later SharedSecret replace those of an earlier one.",
      "It needs --only, --prefix or --all. Who may write a SharedSecret chooses its data keys, " +
        "and variables such as PATH and LD_PRELOAD make programs run other code. With --prefix, " +
        "- and . of a data key become _.",
    ],
    arguments: [{ ...sharedSecret, many: true }],
    options: {
      ...variableOptions,
      all: switchOption({ help: "all values, with their data keys as names" }),
    },
    connects: true,
    runsProgram: true,
    examples: [
      "kubectl latchkey run database --only=PGPASSWORD -- ./migrate --verbose",
      "kubectl latchkey run database --prefix=DB_ -- ./migrate",
    ],
  },
} as const satisfies Readonly<Record<string, Command>>;
