import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The packages of one architecture, from the apt sources of this machine. */
export interface DebianPackages {
  /** The newest version of a package, and the SHA-256 of its file. */
  newest(name: string): DebianPackage;
  /** Downloads `name` or `name=version`; returns the path of the file. Throws if it is not served. */
  download(wanted: string): string;
}

/** A package with its version, and the SHA-256 of its file in hexadecimal digits. */
export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
}

/**
 * Reads the package lists of an architecture into a directory, so that nothing of the machine's own
 * apt changes; the signature of a list is checked as on every update. Needs no root.
 */
export function debianPackages(architecture: string, directory: string): DebianPackages {
  mkdirSync(join(directory, "lists", "partial"), { recursive: true });
  mkdirSync(join(directory, "archives", "partial"), { recursive: true });
  writeFileSync(join(directory, "status"), "");
  const settings = {
    "APT::Architecture": architecture,
    "APT::Architectures": architecture,
    "APT::Sandbox::User": "",
    "Acquire::Languages": "none",
    "Dir::State": directory,
    "Dir::State::status": join(directory, "status"),
    "Dir::Cache": directory,
  };
  const options = Object.entries(settings).map(([name, value]) => `--option=${name}=${value}`);
  const apt = (program: string, ...args: readonly string[]): string => {
    const cwd = join(directory, "archives");
    return execFileSync(program, [...options, ...args], { cwd, encoding: "utf8", stdio: "pipe" });
  };
  apt("apt-get", "update", "--quiet", "--error-on=any");
  return {
    newest(name) {
      const record = apt("apt-cache", "show", "--no-all-versions", name);
      const field = (key: string): string => {
        const [, value] = new RegExp(`^${key}: (\\S+)$`, "m").exec(record) ?? [];
        if (value === undefined) throw new Error(`the package ${name} is listed without ${key}`);
        return value;
      };
      return { name, version: field("Version"), sha256: field("SHA256") };
    },
    download(wanted) {
      apt("apt-get", "download", "--quiet", wanted);
      const [name = ""] = wanted.split("=");
      const file = readdirSync(join(directory, "archives")).find((f) => f.startsWith(`${name}_`));
      return join(directory, "archives", file ?? "");
    },
  };
}

/** The files of a package, below a directory that exists. */
export function unpack(file: string, directory: string): void {
  execFileSync("dpkg-deb", ["--extract", file, directory]);
}
