/** A folder of tiny signed rpm packages on a throwaway machine, made with rpmbuild, gpg and createrepo_c: a source for dnf. */
import type { ThrowawayMachine } from "./throwaway-machine.ts";

/** One version of a package; it holds one file and one configuration file. */
export interface RpmPackage {
  name: string;
  version: string;
  /** Default: 0. */
  epoch?: number;
  requires?: string;
  obsoletes?: string;
}

const folder = "/srv/rpm";

/** The repository. It goes with its machine. */
export class RpmRepository {
  readonly #machine: ThrowawayMachine;
  /** What `baseurl` says. */
  readonly uri = `file://${folder}`;
  /** Armored public key that its packages are signed with. */
  readonly key: string;
  /** The public key of somebody else. */
  readonly otherKey: string;

  /** Makes the machine what Fedora's are where Debian's dnf and rpm are set up otherwise. */
  constructor(machine: ThrowawayMachine) {
    this.#machine = machine;
    machine.write(
      "/etc/rpm/macros",
      "%_dbpath /var/lib/rpm\n%_gpg_name own@example.org\n%__gpg /usr/bin/gpg\n",
    );
    machine.write("/etc/dnf/vars/releasever", "9\n");
    // It makes a repository of what was installed, which nobody signed.
    machine.write("/etc/dnf/plugins/local.conf", "[main]\nenabled = false\n");
    machine.output("mkdir", folder);
    this.key = this.#createKey("own@example.org");
    this.otherKey = this.#createKey("other@example.org");
  }

  /** Adds packages. dnf does not notice by itself before its index is two days old. */
  publish(...packages: readonly RpmPackage[]): void {
    for (const each of packages) this.#build(each);
    this.#machine.output("createrepo_c", "--quiet", folder);
  }

  #createKey(who: string): string {
    const gpg = ["gpg", "--batch", "--quiet", "--passphrase", ""] as const;
    this.#machine.output(...gpg, "--quick-generate-key", who, "rsa2048", "sign", "never");
    return this.#machine.output(...gpg, "--armor", "--export", who);
  }

  #build({ name, version, epoch = 0, requires, obsoletes }: RpmPackage): void {
    const line = (field: string, value?: string): string =>
      value === undefined ? "" : `\n${field}: ${value}`;
    const spec = [
      `Name: ${name}\nVersion: ${version}\nRelease: 1\nEpoch: ${epoch}\nBuildArch: noarch`,
      `Summary: made by a test\nLicense: none${line("Requires", requires)}${line("Obsoletes", obsoletes)}`,
      "%description\nMade by a test.",
      `%install\nmkdir -p %{buildroot}/etc\necho a=1 > %{buildroot}/etc/${name}.conf`,
      `%files\n%config(noreplace) /etc/${name}.conf\n`,
    ];
    this.#machine.write(`/tmp/${name}.spec`, spec.join("\n"));
    const options = ["--quiet", "--define", "_topdir /tmp/rpm", "--define", `_rpmdir ${folder}`];
    this.#machine.output("rpmbuild", "-bb", ...options, `/tmp/${name}.spec`);
    this.#machine.output("rpmsign", "--addsign", `${folder}/noarch/${name}-${version}-1.noarch.rpm`);
  }
}
