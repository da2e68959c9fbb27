/** A signed archive of tiny Debian packages on a throwaway machine, made with dpkg-deb and gpg: a source for apt without a network. */
import { createHash } from "node:crypto";
import type { ThrowawayMachine } from "./throwaway-machine.ts";

/** One version of a package; it holds one file and one configuration file. */
export interface DebPackage {
  name: string;
  version: string;
  depends?: string;
  conflicts?: string;
}

/**
 * Makes a machine one whose apt knows no source. It keeps its cache of what it knows, which copies of containers are told not to do, so that
 * it doesn't read all of Debian at each word.
 */
export function forgetSources(machine: ThrowawayMachine): void {
  machine.output("find", "/etc/apt/sources.list.d", "/var/lib/apt/lists", "-type", "f", "-delete");
  machine.output("rm", "-f", "/etc/apt/sources.list", "/etc/apt/apt.conf.d/docker-clean");
}

/** The archive. It goes with its machine. */
export class DebArchive {
  readonly #machine: ThrowawayMachine;
  readonly #folder: string;
  readonly #keys: string;
  /** Armored public key that signs it. */
  readonly key: string;

  constructor(machine: ThrowawayMachine, packages: readonly DebPackage[]) {
    this.#machine = machine;
    this.#folder = machine.output("mktemp", "--directory", "/srv/archive-XXXXXX").trim();
    this.#keys = machine.output("mktemp", "--directory").trim();
    machine.output("chmod", "0755", this.#folder);
    const who = "Fleetwright test <test@example.org>";
    this.#gpg("--quick-generate-key", who, "ed25519", "sign", "never");
    this.key = this.#gpg("--armor", "--export");
    this.publish(packages);
  }

  /** What a `package_repository` needs to say to use it. */
  get source(): { uris: string[]; suites: string[]; key: string } {
    return { uris: [`file:${this.#folder}`], suites: ["./"], key: this.key };
  }

  /** Replaces the content of the archive. */
  publish(packages: readonly DebPackage[]): void {
    const index = packages.map((each) => this.#build(each)).join("\n");
    this.#machine.write(`${this.#folder}/Packages`, index);
    const digest = createHash("sha256").update(index).digest("hex");
    const release = `Suite: test\nDate: ${new Date().toUTCString()}\nSHA256:\n ${digest} ${index.length} Packages\n`;
    this.#machine.write(`${this.#keys}/Release`, release);
    this.#gpg("--yes", "--clearsign", "--output", `${this.#folder}/InRelease`, `${this.#keys}/Release`);
  }

  #gpg(...args: string[]): string {
    const options = ["--homedir", this.#keys, "--batch", "--quiet", "--passphrase", ""];
    return this.#machine.output("gpg", ...options, ...args);
  }

  /** The entry of the index. */
  #build({ name, version, depends, conflicts }: DebPackage): string {
    const tree = `${this.#keys}/${name}-${version}`;
    const control = [
      `Package: ${name}`,
      `Version: ${version}`,
      "Architecture: all",
      ...(depends === undefined ? [] : [`Depends: ${depends}`]),
      ...(conflicts === undefined ? [] : [`Conflicts: ${conflicts}`]),
      "Maintainer: Nobody <nobody@example.org>",
      "Description: made by a test",
    ].join("\n");
    this.#machine.write(`${tree}/DEBIAN/control`, `${control}\n`);
    this.#machine.write(`${tree}/DEBIAN/conffiles`, `/etc/${name}.conf\n`);
    this.#machine.write(`${tree}/etc/${name}.conf`, "a=1\n");
    this.#machine.write(`${tree}/usr/share/fleetwright-test/${name}`, version);
    const file = `${name}_${version}_all.deb`;
    const path = `${this.#folder}/${file}`;
    this.#machine.output("dpkg-deb", "--build", "--root-owner-group", tree, path);
    const size = this.#machine.output("stat", "--format=%s", path).trim();
    const [sha256 = ""] = this.#machine.output("sha256sum", path).split(" ");
    return `${control}\nFilename: ./${file}\nSize: ${size}\nSHA256: ${sha256}\n`;
  }
}
