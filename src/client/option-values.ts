import { letInProjects } from "../domain/outbox/connected-clusters.ts";
import { longestClusterName } from "../domain/outbox/outbox-names.ts";
import { isDataKey } from "../api/data-key.ts";
import { parseClaimRules } from "../domain/oidc/claim-rules.ts";
import {
  ConfigError,
  isNamespaceName,
  objectName,
  type ParseValue,
  trueOrFalse,
  UsageError,
} from "../runtime/config-values.ts";
import type { CommandOption } from "../cli/command.ts";

/** An option without a value: true if it is there. */
export function switchOption(text: Pick<CommandOption, "alias" | "help">) {
  return { ...text, value: "", initial: "false", parse: trueOrFalse } as const;
}

/** An option with a few valid values. */
export function choiceOption<const Choice extends string>(
  choices: readonly Choice[],
  text: Pick<CommandOption, "alias" | "help">,
) {
  return { ...text, value: `<${choices.join("|")}>`, choices, parse: oneOf(choices) } as const;
}

/** An option with the path of a file, which is not empty. */
export function fileOption(text: Pick<CommandOption, "help">) {
  return { ...text, value: "<file>", completes: "files", parse: someText } as const;
}

/** One of a few words. */
export function oneOf<const Choice extends string>(choices: readonly Choice[]): ParseValue<Choice> {
  return (value, option) => {
    const found = choices.find((choice) => choice === value);
    if (found === undefined)
      throw new ConfigError(option, value, `must be one of ${choices.join(", ")}`);
    return found;
  };
}

/** Text that is not empty. */
export const someText: ParseValue<string> = (value, option) => {
  if (value === "") throw new UsageError(`${option} must not be empty`);
  return value;
};

/** Text that a header can hold (RFC 9110, field-value); errors do not quote it. */
export const headerText: ParseValue<string> = (value, option) => {
  if (/^[\t\x20-\x7e\x80-\xff]+$/.test(value)) return value;
  throw new UsageError(`${option} must be text that a header can hold, without newlines`);
};

/** The URL of a server; returned as written. */
export const serverUrl: ParseValue<string> = (value, option) => {
  if (/^https?:$/.test(URL.parse(value)?.protocol ?? "")) return value;
  throw new ConfigError(option, value, "must be a URL, such as https://latchkey.example.com");
};

/** The name of a SharedSecret. */
export const sharedSecretName = objectName("SharedSecret", "database");

/** The name of an OwnedAccessKey. */
export const accessKeyName = objectName("OwnedAccessKey", "ci");

/** The name of a DirectClusterEndpointToken. */
export const tokenName = objectName("DirectClusterEndpointToken", "job");

/** The name of a connected cluster with an outbox. */
export const clusterName: ParseValue<string> = (value, option) => {
  if (isNamespaceName(value) && value.length <= longestClusterName) return value;
  throw new ConfigError(
    option,
    value,
    "must be the name of a cluster, such as east: lower-case letters, digits and -, " +
      `of at most ${longestClusterName} characters`,
  );
};

/** The projects that a connected cluster lets in, as its annotation has them. */
export const projectList: ParseValue<string> = (value, option) => {
  const list = letInProjects(value);
  if (list.kind === "entries") return list.entries.join(", ");
  throw new ConfigError(option, value, `is invalid: ${list.why}`);
};

function fitting(form: Pick<RegExp, "test">, fix: string): ParseValue<string> {
  return (value, option) => {
    if (form.test(value)) return value;
    throw new ConfigError(option, value, fix);
  };
}

/** The name of a user, team or group, which may be any text that has an end. */
export const subjectName = fitting(
  /^(?=\S)\P{Cc}{1,512}(?<=\S)$/u,
  "must be a name without control characters and without blanks at its ends",
);

/** A data key. */
export const dataKey = fitting(
  { test: isDataKey },
  "must be a data key, such as password: letters, digits, -, _ and .",
);

/** What the names of variables begin with. */
export const variablePrefix = fitting(
  /^[A-Za-z_][A-Za-z0-9_]{0,252}$/,
  "must begin the name of a variable, such as DB_: letters, digits and _, no digit first",
);

/** The name of a variable. */
export const variableName = fitting(
  /^[A-Za-z_][A-Za-z0-9_]{0,252}$/,
  "must be the name of a variable, such as LATCHKEY_TOKEN: letters, digits and _, no digit first",
);

/** An audience of a token: one of an issuer, a slash and the name of a key. */
export const tokenAudience = fitting(
  /^[\x21-\x7e]{1,512}$/,
  "must be an audience without blanks, such as https://latchkey.example.com/ci",
);

/** The id of a repository of GitHub. */
export const repositoryId = fitting(
  /^[1-9][0-9]{0,18}$/,
  "must be a number, which gh api repos/OWNER/NAME --jq .id prints",
);

/** A line of the annotation about claims, such as `environment=production`. */
export const claimLine: ParseValue<string> = (value, option) => {
  const parsed = /\p{Cc}/u.test(value)
    ? ({ kind: "refused", problem: "has a control character" } as const)
    : parseClaimRules(value);
  if (parsed.kind === "rules") return value;
  throw new ConfigError(option, value, parsed.problem.replace(/^line 1 /, ""));
};

/** `NAME`, or `NAME.KEY`, whose key may have other letters than a name. */
export const sharedSecretOrKey: ParseValue<string> = (value, option) =>
  /^[a-z0-9][-a-z0-9]*\.[-._a-zA-Z0-9]{1,253}$/.test(value)
    ? value
    : sharedSecretName(value, option);

/** The verb of a request (Kubernetes, Authorization, "Request verbs"), or `*`. */
export const requestVerb = fitting(
  /^(?:\*|[a-z][-:a-z]{0,252})$/,
  "must be the verb of a request, such as get",
);

/** A resource as in a Role, with its group and its subresource, or a path. */
export const requestResource = fitting(
  /^(?:\/[^\s?#%]{0,252}|[a-zA-Z0-9*][-.a-zA-Z0-9*]{0,252}(?:\/[-a-z0-9*]+)?)$/,
  "must be a resource, such as deployments.apps or pods/log, or a path, such as /healthz",
);

/**
 * The name of an object of any kind, such as `system:node` (Kubernetes, Object Names and IDs, "Path
 * Segment Names"), without what is never in one.
 */
export const requestName = fitting(
  /^(?!\.{1,2}$)[^/%?#\s]{1,253}$/,
  "must be the name of an object, such as system:node, without blanks, /, %, ? and #",
);
