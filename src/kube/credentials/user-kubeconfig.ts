import { existsSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { load } from "js-yaml";
import { errorCode, mostInputBytes, readAtMost } from "../../runtime/read-text-file.ts";
import { CredentialsError, userFix } from "./credentials.ts";
import type { KubeconfigFile } from "./kubeconfig-choice.ts";

/** Where kubeconfig files are looked for. */
interface KubeconfigPlace {
  /** The value of `--kubeconfig`. */
  readonly flag: string | undefined;
  /** The value of KUBECONFIG: paths, some of which may not exist. */
  readonly variable: string | undefined;
  readonly home: string | undefined;
}

/**
 * Reads the kubeconfig files that kubectl would read: that of the flag, else those of the variable,
 * else `~/.kube/config`. Throws a CredentialsError, which quotes nothing of a file.
 */
export function readKubeconfigFiles(place: KubeconfigPlace): readonly KubeconfigFile[] {
  return pathsOf(place).map((path) => ({
    directory: dirname(resolve(path)),
    content: parsed(path),
  }));
}

function pathsOf({ flag, variable = "", home = "" }: KubeconfigPlace): readonly string[] {
  if (flag !== undefined) return [flag];
  const named = variable.split(delimiter).filter((path) => path !== "");
  if (named.length > 0) return named.filter((path) => existsSync(path));
  const usual = join(home, ".kube", "config");
  return home !== "" && existsSync(usual) ? [usual] : [];
}

function parsed(path: string): unknown {
  try {
    // An empty file is an empty kubeconfig.
    const text = readAtMost(path, mostInputBytes).toString("utf8");
    return text.trim() === "" ? {} : load(text);
  } catch (error) {
    throw new CredentialsError(
      `kubeconfig "${path}" cannot be read: ${errorCode(error) ?? "it is not a valid kubeconfig"}`,
      userFix,
    );
  }
}
