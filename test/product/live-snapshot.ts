import type { ObjectRef } from "../../src/api/object.ts";
import { listAt, parseLatchkeyMetadata, recordAt, stringMapAt } from "../../src/api/parse.ts";
import {
  copiedSource,
  type ObservedCopy,
  type Source,
  type UnmanagedSecret,
} from "../../src/domain/sync/copy.ts";
import { isObservedWhole } from "../../src/domain/sync/placeholder.ts";
import type { SyncSnapshot } from "../../src/domain/sync/sync-objects.ts";
import { createDataDigest } from "../../src/tokens/data-digest.ts";
import { observedCopy, observedSource } from "../../src/tokens/observed-data.ts";
import { api } from "../support/policy-request.ts";
import { sharedSecretPath } from "../support/shared-secret-requests.ts";

const digestOf = createDataDigest();

/** A SharedSecret as the controller stores it. */
export function storedSource(raw: unknown): Source {
  return observedSource(raw, digestOf);
}

/** A Secret as the controller stores it; its digest compares with those of {@link storedSource}. */
export function storedSecret(raw: unknown): ObservedCopy | UnmanagedSecret {
  const marks = stringMapAt(recordAt(raw, "metadata"), "labels");
  return isObservedWhole({ labels: marks })
    ? observedCopy(raw, digestOf)
    : { metadata: parseLatchkeyMetadata(raw) };
}

/**
 * The live objects of these namespaces, without copies of SharedSecrets of other namespaces: a
 * source of another test may name all projects.
 */
export async function liveSnapshot(namespaces: readonly string[]): Promise<SyncSnapshot> {
  const isOwn = ({ metadata }: ObservedCopy | UnmanagedSecret): boolean => {
    const source = copiedSource(metadata);
    return source === undefined || namespaces.includes(source.namespace ?? "");
  };
  const listed = await Promise.all(
    namespaces.map(async (namespace) => {
      const [own, secrets, sources] = await Promise.all([
        api.get(`/api/v1/namespaces/${namespace}`),
        api.get(`/api/v1/namespaces/${namespace}/secrets`),
        api.get(sharedSecretPath(namespace)),
      ]);
      return { own, secrets: listAt(secrets, "items"), sources: listAt(sources, "items") };
    }),
  );
  return {
    namespaces: listed.map(({ own }) => parseLatchkeyMetadata(own)),
    secrets: listed.flatMap(({ secrets }) => secrets.map(storedSecret)).filter(isOwn),
    sharedSecrets: listed.flatMap(({ sources }) => sources.map(storedSource)),
  };
}

/** The live Secret or SharedSecret as the API server sent it. */
export function livePath(
  { namespace = "", name }: ObjectRef,
  kind: "Secret" | "SharedSecret",
): string {
  return kind === "Secret"
    ? `/api/v1/namespaces/${namespace}/secrets/${name}`
    : sharedSecretPath(namespace, name);
}
