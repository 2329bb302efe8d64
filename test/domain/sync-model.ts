import { labels } from "../../src/api/names.ts";
import type { Manifest } from "../../src/api/object.ts";
import { isRecord, recordAt } from "../../src/api/parse.ts";
import { type Secret, parseSecret } from "../../src/api/secret.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import type { Write } from "../../src/domain/plan/plan.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import { target } from "../support/observed-copies.ts";
import type { ObservedTarget } from "../../src/domain/sync/observed-target.ts";

/** The API server for one Secret, with the rejections that matter here. */
export class SecretPlace {
  #standing: Record<string, unknown> | undefined;
  #version = 1;

  /** Stores a Secret as given, replacing any existing one. */
  put(object: Readonly<Record<string, unknown>>): void {
    this.#version += 1;
    const raw: unknown = JSON.parse(encodeBody(object));
    const server = { uid: `uid-${this.#version}`, creationTimestamp: "2026-01-01T00:00:00Z" };
    this.#standing = {
      ...(isRecord(raw) ? raw : {}),
      metadata: {
        ...server,
        ...target,
        ...recordAt(raw, "metadata"),
        resourceVersion: String(this.#version),
      },
    };
  }

  get secret(): Secret | undefined {
    return this.#standing === undefined ? undefined : parseSecret(this.#standing);
  }

  /** The Secret as the informers would cache it. */
  seen(): Pick<ObservedTarget, "copy" | "unmanaged"> {
    const secret = this.secret;
    if (secret === undefined) return {};
    const { data, ...rest } = secret;
    if (secret.metadata.labels[labels.sourceUid] === undefined)
      return { unmanaged: { metadata: secret.metadata } };
    return { copy: { ...rest, digest: digestOf(data) } };
  }

  /** Executes a write like the API server; throws if it would reject it. */
  apply(write: Write): void {
    if (write.do === "record-event") return;
    const standing = this.secret;
    if (write.do === "create") {
      if (standing !== undefined) throw new Error("409: it exists");
      return this.put(write.object);
    }
    if (standing === undefined) throw new Error("404: it is gone");
    switch (write.do) {
      case "dry-run-create":
        return;
      case "replace":
        expectVersion(standing, write.object.metadata.resourceVersion);
        if (write.object.metadata.uid !== standing.metadata.uid)
          throw new Error("409: another uid");
        refuseSealed(standing, write.object);
        return this.put(write.object);
      case "patch": {
        expectVersion(standing, write.body.metadata.resourceVersion);
        return this.put(merged(this.#standing, write.body));
      }
      case "delete":
        expectVersion(standing, write.resourceVersion);
        if (write.uid !== standing.metadata.uid) throw new Error("409: another uid");
        this.#standing = undefined;
        return;
    }
  }
}

/** The digest of the data in these tests. */
export function digestOf(data: Secret["data"]): string {
  return Object.values(data)
    .map((value) => SecretText.reveal(value))
    .join();
}

function expectVersion({ metadata }: Secret, resourceVersion: string | undefined): void {
  if (resourceVersion !== metadata.resourceVersion) throw new Error("409: another resourceVersion");
}

function refuseSealed(standing: Secret, object: Manifest): void {
  const wanted = parseSecret({
    ...recordAt({ raw: JSON.parse(encodeBody(object)) }, "raw"),
    metadata: standing.metadata,
  });
  if (wanted.type !== standing.type) throw new Error("422: type: field is immutable");
  if (!standing.immutable) return;
  if (!wanted.immutable || digestOf(wanted.data) !== digestOf(standing.data))
    throw new Error("422: field is immutable when `immutable` is set");
}

/** Applies a merge patch (RFC 7386) to metadata. */
function merged(standing: unknown, patch: unknown): Record<string, unknown> {
  const result: Record<string, unknown> = isRecord(standing) ? { ...standing } : {};
  for (const [field, value] of Object.entries(isRecord(patch) ? patch : {})) {
    if (value === null) delete result[field];
    else result[field] = isRecord(value) ? merged(result[field], value) : value;
  }
  return result;
}
