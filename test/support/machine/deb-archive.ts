/** A signed archive of tiny Debian packages in a folder, made with dpkg-deb and gpg: a source for apt without a network. */
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { output } from "./real-machine.ts";

/** One version of a package; it holds one file and one configuration file. */
export interface DebPackage {
  name: string;
  version: string;
  depends?: string;
  conflicts?: string;
}

/** The archive. Removes itself. */
export class DebArchive implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "fleetwright-archive-"));
  readonly #keys = mkdtempSync(join(tmpdir(), "fleetwright-keys-"));
  /** Armored public key that signs it. */
  readonly key: string;

  constructor(packages: readonly DebPackage[]) {
    chmodSync(this.folder, 0o755);
    const who = "Fleetwright test <test@example.org>";
    this.#gpg("--quick-generate-key", who, "ed25519", "sign", "never");
    this.key = this.#gpg("--armor", "--export");
    this.publish(packages);
  }

  /** What a `package_repository` needs to say to use it. */
  get source(): { uris: string[]; suites: string[]; key: string } {
    return { uris: [`file:${this.folder}`], suites: ["./"], key: this.key };
  }

  /** Replaces the content of the archive. */
  publish(packages: readonly DebPackage[]): void {
    const index = packages.map((each) => this.#build(each)).join("\n");
    writeFileSync(join(this.folder, "Packages"), index);
    const digest = createHash("sha256").update(index).digest("hex");
    const release = `Suite: test\nDate: ${new Date().toUTCString()}\nSHA256:\n ${digest} ${index.length} Packages\n`;
    writeFileSync(join(this.#keys, "Release"), release);
    const signed = join(this.folder, "InRelease");
    this.#gpg("--yes", "--clearsign", "--output", signed, join(this.#keys, "Release"));
  }

  [Symbol.dispose](): void {
    output("gpgconf", "--homedir", this.#keys, "--kill", "all");
    rmSync(this.#keys, { recursive: true, force: true });
    rmSync(this.folder, { recursive: true, force: true });
  }

  #gpg(...args: string[]): string {
    return output("gpg", "--homedir", this.#keys, "--batch", "--quiet", "--passphrase", "", ...args);
  }

  /** The entry of the index. */
  #build({ name, version, depends, conflicts }: DebPackage): string {
    const tree = join(this.#keys, `${name}-${version}`);
    for (const folder of ["DEBIAN", "etc", "usr/share/fleetwright-test"])
      mkdirSync(join(tree, folder), { recursive: true, mode: 0o755 });
    const control = [
      `Package: ${name}`,
      `Version: ${version}`,
      "Architecture: all",
      ...(depends === undefined ? [] : [`Depends: ${depends}`]),
      ...(conflicts === undefined ? [] : [`Conflicts: ${conflicts}`]),
      "Maintainer: Nobody <nobody@example.org>",
      "Description: made by a test",
    ].join("\n");
    writeFileSync(join(tree, "DEBIAN/control"), `${control}\n`);
    writeFileSync(join(tree, "DEBIAN/conffiles"), `/etc/${name}.conf\n`);
    writeFileSync(join(tree, `etc/${name}.conf`), "a=1\n");
    writeFileSync(join(tree, `usr/share/fleetwright-test/${name}`), version);
    const file = `${name}_${version}_all.deb`;
    output("dpkg-deb", "--build", "--root-owner-group", tree, join(this.folder, file));
    const bytes = readFileSync(join(this.folder, file));
    const { size } = statSync(join(this.folder, file));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return `${control}\nFilename: ./${file}\nSize: ${size}\nSHA256: ${sha256}\n`;
  }
}
