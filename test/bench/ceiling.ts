import type { BareClient } from "../support/bare-client.ts";
import {
  ceilingName,
  copyLikeBody,
  metadataOf,
  ownPath,
  parsed,
  secretPath,
  type TargetForm,
  tokenRequest,
} from "../support/bench-objects.ts";
import type { BenchFixture } from "./bench-fixture.ts";

const warmUp = 1000;

/**
 * Sends the first 1,000 requests on the account's connections, which cost a process more than later
 * ones.
 */
export async function warmBareClient({ account }: BenchFixture): Promise<void> {
  await account.pour(warmUp, () => ({ method: "GET", path: secretPath("latchkey-system") }));
}

/** Secrets of the same form as Latchkey's, one in each namespace, written by the bare client. */
export interface SecretCeiling {
  /** Milliseconds to create all of them. */
  create(): Promise<number>;
  /** Milliseconds to replace all of them. */
  replace(): Promise<number>;
  remove(): Promise<void>;
}

/**
 * The rate at which the bare client writes a Secret into each namespace. Another field manager
 * creates those in the form of placeholders, which costs the API server more in each update.
 */
export function secretCeiling(
  client: BareClient,
  namespaces: readonly string[],
  form: TargetForm,
): SecretCeiling {
  const creator = form === "copies" ? ceilingName : "creator";
  const at = (index: number): string => namespaces[index] ?? "";
  const count = namespaces.length;
  const versions: string[] = [];
  let version = 1;
  const note = (body: string, index: number): void =>
    void (versions[index] = metadataOf(parsed(body)).resourceVersion);
  return {
    create: () =>
      client.pour(
        count,
        (index) => ({
          method: "POST",
          path: `${secretPath(at(index))}?fieldManager=${creator}`,
          body: copyLikeBody(at(index), { version, form }),
        }),
        note,
      ),
    replace() {
      version += 1;
      const body = (index: number): object =>
        copyLikeBody(at(index), { version, form, resourceVersion: versions[index] ?? "" });
      return client.pour(
        count,
        (index) => ({
          method: "PUT",
          path: `${secretPath(at(index), ceilingName)}?fieldManager=${ceilingName}`,
          body: body(index),
        }),
        note,
      );
    },
    async remove() {
      await client.pour(count, (index) => ({
        method: "DELETE",
        path: secretPath(at(index), ceilingName),
      }));
    },
  };
}

/**
 * The rate, in tokens per second, at which the bare client creates and patches a token twice, while
 * no controller runs. Latchkey writes a finalizer and a status for each token; its grants are
 * batched and not counted here.
 */
export async function tokenCeiling({ admin, account }: BenchFixture): Promise<number> {
  const count = 500;
  const name = (index: number): string => `ceiling-${index}`;
  const path = (index: number): string => ownPath("directclusterendpointtokens", name(index));
  const took = [
    await admin.pour(count, (index) => tokenRequest(name(index), "ceiling")),
    await account.pour(count, (index) => ({
      method: "PATCH",
      path: path(index),
      body: { metadata: { annotations: { ceiling: "x" } } },
    })),
    await account.pour(count, (index) => ({
      method: "PATCH",
      path: `${path(index)}/status`,
      body: { status: { keyID: "x", token: "x".repeat(600) } },
    })),
  ];
  await admin.pour(count, (index) => ({ method: "DELETE", path: path(index) }));
  return (count * 1000) / took.reduce((sum, ms) => sum + ms, 0);
}
