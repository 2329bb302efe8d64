import { isDataKey } from "../../domain/shared-secret/data-values.ts";
import { ConfigError, objectName, type ParseValue } from "../../runtime/config-values.ts";

/** The name of a SharedSecret. */
export const sharedSecretName = objectName("SharedSecret", "database");

/** The name of an OwnedAccessKey. */
export const accessKeyName = objectName("OwnedAccessKey", "ci");

/** The name of a DirectClusterEndpointToken. */
export const tokenName = objectName("DirectClusterEndpointToken", "job");

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
