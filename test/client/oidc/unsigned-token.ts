import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { annotations, ownObjects } from "../../../src/api/names.ts";

/** The start of the clock of a client in memory, in seconds since the epoch. */
export const now = Date.UTC(2026, 0, 1) / 1000;

/** The issuer of {@link claims}. */
export const issuer = "https://oidc.example";

/** Claims that the key of {@link keyNamed} accepts. */
export const claims = {
  iss: issuer,
  aud: "https://latchkey.example/ci",
  iat: now - 60,
  exp: now + 300,
  repository: "acme/shop",
  environment: "production",
  sub: "canary-subject",
};

/** A token with these claims, which nobody signed. */
export function tokenOf(changed: object = {}, header: object = {}): string {
  const parts = [
    { alg: "ES256", kid: "k", ...header },
    { ...claims, ...changed },
  ];
  const encoded = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
  return [...encoded, "canarysignature"].join(".");
}

/** Without the right to read the policies, the recorded requester of a key counts. */
export const unreadPolicies = ["mutatingadmissionpolicies"];

/** Whether a text has a part of a token. */
export function showsToken(text: string, token: string): boolean {
  return token.split(".").some((part) => part.length > 8 && text.includes(part));
}

/** The OwnedAccessKey that accepts tokens of the issuer with these claims. */
export function keyNamed(name: string, rules: string, spec: object = {}): object {
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2025-12-31T00:00:00Z",
      annotations: {
        [annotations.issuer]: issuer,
        [annotations.claims]: rules,
        [annotations.requester]: "alice",
      },
    },
    spec: { user: "shop-ci", ...spec },
  };
}

/** The ConfigMap with the issuers, of which one is that of {@link claims}. */
export function issuersMap(entry: object = {}, url = issuer): object {
  const jwt = [{ issuer: { url, audiences: ["https://latchkey.example"] }, ...entry }];
  const content = {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt,
  };
  return {
    metadata: { name: ownObjects.issuers, namespace: "latchkey-system" },
    data: { "issuers.yaml": JSON.stringify(content) },
  };
}

/** Runs a test with a file of this content. */
export async function withFile<T>(content: string, run: (path: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "token-file-"));
  try {
    const path = join(directory, "token");
    writeFileSync(path, content);
    return await run(path);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
