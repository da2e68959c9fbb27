/** How each package manager writes a source of packages: where, in which form, and how its index is fetched. */
import { readMarked, requirePair, writeMarked } from "../shared/marked-lines.ts";

/** A source as it is to be written. */
export interface RepositorySource {
  name: string;
  uris: readonly string[];
  suites?: readonly string[] | undefined;
  components?: readonly string[] | undefined;
  architectures?: readonly string[] | undefined;
  /** Where the key stands; null = the source is not signed, or by a key that the machine trusts anyway. */
  keyPath: string | null;
}

/** One package manager's way. */
export interface RepositoryLayout {
  /** Shows that the machine has it. */
  readonly folder: string;
  paths(name: string): { key: string; source: string };
  print(source: RepositorySource): string;
  /** The part of the file that is this source; null = none. */
  sourceIn(file: string | null, name: string): string | null;
  /** The file with this source in it; null = the file goes. */
  withSource(file: string | null, source: string | null, name: string): string | null;
  /** Fetches the index of this source, and no other where it can be told. */
  refresh(name: string): readonly [string, ...string[]];
}

const ownFile: Pick<RepositoryLayout, "sourceIn" | "withSource"> = {
  sourceIn: (file) => file,
  withSource: (_file, source) => source,
};

const apt: RepositoryLayout = {
  ...ownFile,
  folder: "/etc/apt/sources.list.d",
  paths: (name) => ({
    key: `/etc/apt/keyrings/${name}.asc`,
    source: `/etc/apt/sources.list.d/${name}.sources`,
  }),
  print({ uris, suites = ["/"], components = [], architectures = [], keyPath }) {
    const fields: [string, readonly string[]][] = [
      ["Types", ["deb"]],
      ["URIs", uris],
      ["Suites", suites],
      ["Components", components],
      ["Architectures", architectures],
      ["Signed-By", keyPath === null ? [] : [keyPath]],
    ];
    const given = fields.filter(([, values]) => values.length > 0);
    return given.map(([field, values]) => `${field}: ${values.join(" ")}\n`).join("");
  },
  refresh(name) {
    const options = [
      `Dir::Etc::sourcelist=/etc/apt/sources.list.d/${name}.sources`,
      "Dir::Etc::sourceparts=-",
      // The indexes of all other sources stay.
      "APT::Get::List-Cleanup=0",
      "APT::Update::Error-Mode=any",
    ];
    // Quieter than quiet: it names a source on a disk twice.
    return ["/usr/bin/apt-get", "-qq", ...options.flatMap((option) => ["-o", option]), "update"];
  },
};

const dnf: RepositoryLayout = {
  ...ownFile,
  folder: "/etc/dnf",
  paths: (name) => ({
    key: `/etc/pki/rpm-gpg/RPM-GPG-KEY-${name}`,
    source: `/etc/yum.repos.d/${name}.repo`,
  }),
  print({ name, uris, keyPath }) {
    const signed = keyPath === null ? [] : ["gpgcheck=1", `gpgkey=file://${keyPath}`];
    return [`[${name}]`, `name=${name}`, `baseurl=${uris.join(" ")}`, "enabled=1", ...signed, ""].join("\n");
  },
  refresh(name) {
    // Where dnf is told to go on without a source that can't be reached, as Fedora's is, it calls that a success.
    const only = ["--setopt=skip_if_unavailable=False", "--disablerepo=*", `--enablerepo=${name}`];
    return ["dnf", "-q", "-y", ...only, "makecache", "--refresh"];
  },
};

const apk: RepositoryLayout = {
  folder: "/etc/apk",
  paths: (name) => ({ key: `/etc/apk/keys/${name}.rsa.pub`, source: "/etc/apk/repositories" }),
  print({ uris, components = [] }) {
    const lines = uris.flatMap((uri) => {
      const base = uri.replace(/\/$/, "");
      return components.length === 0 ? [base] : components.map((component) => `${base}/${component}`);
    });
    return lines.map((line) => `${line}\n`).join("");
  },
  sourceIn: (file, name) => {
    requirePair(file ?? "", name, "/etc/apk/repositories");
    return readMarked(file ?? "", name);
  },
  withSource: (file, source, name) => {
    requirePair(file ?? "", name, "/etc/apk/repositories");
    const text = writeMarked(file ?? "", name, source);
    return file === null && text === "" ? null : text;
  },
  refresh: () => ["apk", "--wait", "300", "update"],
};

/** By the name of the package manager. */
export const repositoryLayouts = { apt, dnf, apk } as const;
