/** A folder of tiny packages on a throwaway machine, packed with bsdtar and listed with repo-add: a source for pacman. */
import type { ThrowawayMachine } from "./throwaway-machine.ts";

/** One version of a package; it holds one configuration file. */
export interface PacmanPackage {
  name: string;
  /** With its release: "1.0-1". */
  version: string;
  depends?: string;
}

const folder = "/srv/pacman";

/** The repository, the only one that the machine's pacman has. It goes with its machine. */
export class PacmanRepository {
  readonly #machine: ThrowawayMachine;
  #published = 0;

  constructor(machine: ThrowawayMachine) {
    this.#machine = machine;
    machine.output("mkdir", folder);
    const source = `[test]\nSigLevel = Never\nServer = file://${folder}\n`;
    machine.write("/etc/pacman.conf", `[options]\nArchitecture = auto\n${source}`);
  }

  /** Adds packages; of each name the repository has the last that was added. */
  publish(...packages: readonly PacmanPackage[]): void {
    for (const each of packages) this.#build(each);
    // pacman fetches what is newer than what it has, by whole seconds.
    this.#published += 1;
    this.#machine.output("touch", `--date=${this.#published} seconds`, `${folder}/test.db.tar.gz`);
  }

  #build({ name, version, depends }: PacmanPackage): void {
    const tree = `/tmp/${name}-${version}`;
    const info = [`pkgname = ${name}`, `pkgver = ${version}`, "arch = any", `backup = etc/${name}.conf`];
    if (depends !== undefined) info.push(`depend = ${depends}`);
    this.#machine.write(`${tree}/.PKGINFO`, `${info.join("\n")}\n`);
    this.#machine.write(`${tree}/etc/${name}.conf`, "a=1\n");
    const file = `${folder}/${name}-${version}-any.pkg.tar.gz`;
    this.#machine.output("bsdtar", "-czf", file, "-C", tree, ".PKGINFO", "etc");
    this.#machine.output("repo-add", "--quiet", `${folder}/test.db.tar.gz`, file);
  }
}
