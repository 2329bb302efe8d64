import { join } from "node:path";
import type { BuildDeps } from "./cached-build.ts";
import { buildModule, type GoModule } from "./go-module.ts";
import { startLineProgram } from "./line-program.ts";
import { pythonCommand, type PythonProgram } from "./python-packages.ts";

/** A token, and the issuer and audience that it must have; the CA is that of the issuer, in PEM. */
export interface TokenQuestion {
  readonly issuer: string;
  readonly audience: string;
  readonly ca: string;
  readonly token: string;
}

/** A standard library that verifies tokens with what it discovers at their issuer. */
export interface TokenVerifier {
  /**
   * `{ok: true, claims}`, or `{ok: false, reason}` with the reason discovery, issuer, audience,
   * expired, algorithm, signature (also: no published key has the kid) or other.
   */
  verify(question: TokenQuestion): Promise<unknown>;
  stop(): void;
}

/** The names of the libraries; kube-apiserver has an older version of go-oidc. */
export const verifierNames = ["go-oidc", "PyJWT"] as const;

/** The verifier of go-oidc. */
export const goOidcModule: GoModule = {
  directory: join(import.meta.dirname, "oidc-verifier"),
  name: "token verifier in Go",
  takes: "20 seconds",
  packages: ".",
};

/** The verifier of PyJWT. */
export const pyJwtProgram: PythonProgram = {
  directory: join(import.meta.dirname, "jwt-verifier"),
  file: "verifier.py",
  name: "token verifier in Python",
  takes: "10 seconds",
};

/**
 * Starts a verifier that connects through an HTTP proxy, and builds it if necessary. It keeps the
 * keys of an issuer as long as its library wants to.
 */
export async function startVerifier(
  name: (typeof verifierNames)[number],
  proxy: string,
  deps: BuildDeps,
): Promise<TokenVerifier> {
  const command = await (name === "go-oidc" ? goCommand(deps) : pythonCommand(pyJwtProgram, deps));
  // Some libraries prefer the lower case, others the upper case.
  const proxies = { HTTPS_PROXY: proxy, https_proxy: proxy, NO_PROXY: "", no_proxy: "" };
  const program = startLineProgram(command.words, { ...command.env, ...proxies });
  return {
    verify: async (question) => (await program.ask([question]))[0],
    stop: () => program.stop(),
  };
}

async function goCommand(deps: BuildDeps) {
  const { env = process.env } = deps;
  return { words: [join(await buildModule(goOidcModule, deps), "oidc-verifier")], env };
}
