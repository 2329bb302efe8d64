import { createHmac, randomBytes } from "node:crypto";
import {
  annotations,
  components,
  labels,
  lastAppliedAnnotation as lastApplied,
  ownObjects,
} from "../api/names.ts";
import type { Manifest } from "../api/object.ts";
import { isRecord, recordAt, stringAt } from "../api/parse.ts";
import { SecretText } from "../api/secret-text.ts";
import type { Wire } from "../api/wire.ts";
import {
  connectorDataRefText,
  type ConnectorDataRef,
} from "../domain/access-key/connector-data.ts";
import { isSameDigest } from "./access-key.ts";

type Json = Readonly<Record<string, unknown>>;

const field = "connectorData";

/** `spec.identity.connectorData` of a key; undefined if it is absent or not a string. */
export function connectorDataIn(object: unknown): SecretText | undefined {
  const text = stringAt(recordAt(recordAt(object, "spec"), "identity"), field);
  return text === undefined ? undefined : new SecretText(text);
}

/**
 * Removes the connector data from a key, also from the annotation of client-side apply, and sets
 * this reference.
 */
export function withoutConnectorData(object: Json, ref: ConnectorDataRef | undefined): Json {
  const metadata = recordAt(object, "metadata");
  const {
    [annotations.connectorData]: _,
    [lastApplied]: applied,
    ...others
  } = recordAt(metadata, "annotations");
  const given = {
    ...others,
    ...cleanApplied(applied),
    ...(ref === undefined ? {} : { [annotations.connectorData]: connectorDataRefText(ref) }),
  };
  const hasSome = isRecord(metadata["annotations"]) || ref !== undefined;
  return {
    ...withoutField(object),
    metadata: { ...metadata, ...(hasSome ? { annotations: given } : {}) },
  };
}

/** Creates a reference to a Secret with a random name. */
export function newConnectorDataRef(data: SecretText, key: SecretText): ConnectorDataRef {
  const secret = `latchkey-connector-${randomBytes(16).toString("hex")}`;
  return { secret, mark: markOf(secret, data, key) };
}

/** Whether the reference was created for this data and HMAC key. */
export function isRefTo(ref: ConnectorDataRef, data: SecretText, key: SecretText): boolean {
  return isSameDigest(ref.mark, markOf(ref.secret, data, key));
}

/** The Secret that contains the data unchanged; it is immutable. */
export function connectorSecret(
  { secret }: ConnectorDataRef,
  data: SecretText,
  namespace: string,
): Manifest {
  const value = Buffer.from(SecretText.reveal(data), "utf8").toString("base64");
  const written = { [field]: new SecretText(value) };
  return ownSecret({ namespace, name: secret }, components.connectorData, written);
}

/** A Secret with a new HMAC key for the marks of references. */
export function connectorKeySecret(namespace: string): Manifest {
  const key = new SecretText(randomBytes(32).toString("base64"));
  return ownSecret({ namespace, name: ownObjects.connectorKey }, components.connectorKey, { key });
}

/** Parses the HMAC key in that Secret; throws if it has less than 32 bytes. */
export function parseConnectorKey(raw: unknown): SecretText {
  const key = stringAt(recordAt(raw, "data"), "key") ?? "";
  if (Buffer.from(key, "base64").length < 32)
    throw new Error(
      `Secret ${ownObjects.connectorKey} must contain a key of 32 bytes; ` +
        "delete the Secret to generate a new key",
    );
  return new SecretText(key);
}

/**
 * The HMAC of the data and the name of its Secret, so that equal data in two Secrets has two marks.
 */
function markOf(secret: string, data: SecretText, key: SecretText): string {
  return createHmac("sha256", Buffer.from(SecretText.reveal(key), "base64"))
    .update(`${secret}/${SecretText.reveal(data)}`, "utf8")
    .digest("hex");
}

function ownSecret(
  { namespace, name }: Readonly<Record<"namespace" | "name", string>>,
  component: string,
  data: Readonly<Record<string, SecretText>>,
): Manifest {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name, labels: { [labels.component]: component } },
    immutable: true,
    type: "Opaque",
    data,
  } satisfies Wire<"Secret">;
}

function withoutField(object: Json): Json {
  const spec = recordAt(object, "spec");
  const identity = recordAt(spec, "identity");
  if (stringAt(identity, field) === undefined) return object;
  const { [field]: _, ...others } = identity;
  return { ...object, spec: { ...spec, identity: others } };
}

/**
 * Removes the connector data from the annotation; removes the annotation if it may contain the data
 * and is not an object with a spec.
 */
function cleanApplied(applied: unknown): Json {
  if (typeof applied !== "string") return applied === undefined ? {} : { [lastApplied]: applied };
  if (!applied.includes(field)) return { [lastApplied]: applied };
  try {
    const object: unknown = JSON.parse(applied);
    return isRecord(object) && isRecord(object["spec"])
      ? { [lastApplied]: `${JSON.stringify(withoutField(object))}\n` }
      : {};
  } catch {
    return {};
  }
}
