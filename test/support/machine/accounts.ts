/** Small models of the programs of shadow-utils, over the account files of a machine in memory. */
import type { HostCommand, HostCommandResult, HostFiles } from "../../../lib/host/host.ts";
import type { MemoryHost, MemoryProgram } from "../../../lib/host/memory-host.ts";

type Row = string[];
type Result = Partial<HostCommandResult>;

const tables = { passwd: "/etc/passwd", group: "/etc/group", shadow: "/etc/shadow" } as const;

/** The account files of a fresh machine: root, and a group "users". */
export function prepareAccounts({ files }: { files: HostFiles }): void {
  if (!files.stat("/etc")) files.makeDirectory("/etc", { mode: 0o755 });
  files.writeFile(tables.passwd, Buffer.from("root:x:0:0:root:/root:/bin/sh\n"), { mode: 0o644 });
  files.writeFile(tables.group, Buffer.from("root:x:0:\nusers:x:100:\nstaff:x:50:\n"), { mode: 0o644 });
  files.writeFile(tables.shadow, Buffer.from("root:*:20000:0:99999:7:::\n"), { mode: 0o600 });
}

/** The programs by name; `host` is asked for when one is run. */
export function accountPrograms(host: () => MemoryHost): Record<string, MemoryProgram> {
  const program = (act: (accounts: Accounts, call: Call) => Result): MemoryProgram => {
    return (command) => act(new Accounts(host().files), parse(command));
  };
  return {
    useradd: program(useradd),
    usermod: program(usermod),
    userdel: program(userdel),
    groupadd: program(groupadd),
    groupmod: program(groupmod),
    groupdel: program(groupdel),
    gpasswd: program(gpasswd),
    chpasswd: program(chpasswd),
    chage: program(chage),
  };
}

interface Call {
  name: string;
  /** Options by their flag; "" for those without a value. */
  options: Map<string, string>;
  stdin: string;
}

const withoutValue = new Set(["-m", "-U", "-r"]);

function parse({ argv, stdin = "" }: HostCommand): Call {
  const options = new Map<string, string>();
  const rest = argv.slice(1);
  let name = "";
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    if (!part.startsWith("-")) name = part;
    else
      options.set(
        part,
        (withoutValue.has(part) && argv[0] !== "chage") || (argv[0] === "useradd" && part === "-M")
          ? ""
          : (rest.shift() ?? ""),
      );
  }
  return { name, options, stdin };
}

/** The three tables, written back as they change. */
class Accounts {
  readonly files: HostFiles;

  constructor(files: HostFiles) {
    this.files = files;
  }

  rows(table: keyof typeof tables): Row[] {
    const text = Buffer.from(this.files.readFile(tables[table])).toString();
    return text
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split(":"));
  }

  row(table: keyof typeof tables, name: string): Row | undefined {
    return this.rows(table).find((row) => row[0] === name);
  }

  edit(table: keyof typeof tables, change: (rows: Row[]) => Row[]): void {
    const text = change(this.rows(table))
      .map((row) => `${row.join(":")}\n`)
      .join("");
    this.files.writeFile(tables[table], Buffer.from(text), {});
  }

  set(table: keyof typeof tables, name: string, fields: Record<number, string | undefined>): void {
    this.edit(table, (rows) =>
      rows.map((row) => (row[0] === name ? row.map((field, index) => fields[index] ?? field) : row)),
    );
  }

  freeId(table: "passwd" | "group", first = 1000): string {
    const taken = new Set(this.rows(table).map((row) => Number(row[2])));
    let id = first;
    while (taken.has(id)) id += 1;
    return String(id);
  }

  gid(group: string): string | undefined {
    return /^\d+$/.test(group) ? group : this.row("group", group)?.[2];
  }

  setGroups(user: string, groups: readonly string[]): void {
    this.edit("group", (rows) =>
      rows.map(([name = "", password = "", gid = "", members = ""]) => {
        const others = members.split(",").filter((member) => member !== "" && member !== user);
        return [name, password, gid, (groups.includes(name) ? [...others, user] : others).join(",")];
      }),
    );
  }
}

function refuse(exitCode: number, stderr: string): Result {
  return { exitCode, stderr };
}

function useradd(accounts: Accounts, { name, options }: Call): Result {
  if (accounts.row("passwd", name)) return refuse(9, `useradd: user '${name}' already exists`);
  const groups = (options.get("-G") ?? "").split(",").filter(Boolean);
  const group = options.get("-g");
  const unknown = [...groups, ...(group === undefined ? [] : [group])].find(
    (each) => accounts.gid(each) === undefined,
  );
  if (unknown !== undefined) return refuse(6, `useradd: group '${unknown}' does not exist`);
  const first = options.has("-r") ? 100 : 1000;
  if (group === undefined) groupadd(accounts, { name, options: new Map(), stdin: "" });
  const uid = options.get("-u") ?? accounts.freeId("passwd", first);
  const home = options.get("-d") ?? `/home/${name}`;
  const row = [name, "x", uid, accounts.gid(group ?? name) ?? "", options.get("-c") ?? "", home];
  accounts.edit("passwd", (rows) => [...rows, [...row, options.get("-s") ?? "/bin/sh"]]);
  const shadow = [name, "!", "20000", "0", "99999", "7", "", options.get("-e") ?? "", ""];
  accounts.edit("shadow", (rows) => [...rows, shadow]);
  accounts.setGroups(name, groups);
  if (!options.has("-m") || accounts.files.stat(home)) return {};
  const settings = accounts.files.stat("/etc/login.defs") && accounts.files.readFile("/etc/login.defs");
  const [, mode = "755"] =
    /^HOME_MODE\s+([0-7]+)/m.exec(new TextDecoder().decode(settings ?? undefined)) ?? [];
  const owner = { uid: Number(uid), gid: Number(row[3]) };
  accounts.files.makeDirectory(home, { mode: Number.parseInt(mode, 8), ...owner });
  for (const file of accounts.files.stat("/etc/skel") ? accounts.files.list("/etc/skel") : [])
    accounts.files.writeFile(`${home}/${file}`, accounts.files.readFile(`/etc/skel/${file}`), {
      mode: 0o644,
      ...owner,
    });
  return {};
}

function usermod(accounts: Accounts, { name, options }: Call): Result {
  const group = options.get("-g");
  const gid = group === undefined ? undefined : accounts.gid(group);
  if (group !== undefined && gid === undefined) return refuse(6, `usermod: group '${group}' does not exist`);
  const groups = options.get("-G")?.split(",").filter(Boolean);
  const unknown = groups?.find((each) => accounts.gid(each) === undefined);
  if (unknown !== undefined) return refuse(6, `usermod: group '${unknown}' does not exist`);
  if (groups) accounts.setGroups(name, groups);
  const [uid, comment, home, shell] = ["-u", "-c", "-d", "-s"].map((flag) => options.get(flag));
  const before = ownerIn(accounts, name);
  accounts.set("passwd", name, { 2: uid, 3: gid, 4: comment, 5: home, 6: shell });
  accounts.set("shadow", name, { 7: options.get("-e") });
  const [folder = "", after] = [accounts.row("passwd", name)?.[5], ownerIn(accounts, name)];
  const owner = accounts.files.stat(folder)?.uid;
  if (owner === before.uid || owner === after.uid) handOver(accounts.files, folder, { before, after });
  return {};
}

function ownerIn(accounts: Accounts, name: string): { uid: number; gid: number } {
  const [, , uid, gid] = accounts.row("passwd", name) ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

/** What a user or group has in a home goes with the number. */
function handOver(
  files: HostFiles,
  path: string,
  { before, after }: Record<"before" | "after", { uid: number; gid: number }>,
): void {
  const { uid, gid, kind } = files.stat(path) ?? { uid: 0, gid: 0, kind: "other" };
  // The files of a model wait for nothing.
  void files.setAttributes(path, {
    uid: uid === before.uid ? after.uid : uid,
    gid: gid === before.gid ? after.gid : gid,
  });
  if (kind !== "directory") return;
  for (const name of files.list(path)) handOver(files, `${path}/${name}`, { before, after });
}

function userdel(accounts: Accounts, { name, options }: Call): Result {
  const user = accounts.row("passwd", name);
  if (!user) return refuse(6, `userdel: user '${name}' does not exist`);
  accounts.setGroups(name, []);
  const own = accounts.row("group", name);
  if (own?.[2] === user[3] && own?.[3] === "") {
    accounts.edit("group", (rows) => rows.filter((row) => row[0] !== name));
  }
  for (const table of ["passwd", "shadow"] as const) {
    accounts.edit(table, (rows) => rows.filter((row) => row[0] !== name));
  }
  if (options.has("-r")) accounts.files.removeDirectory(user[5] ?? "");
  return {};
}

function groupadd(accounts: Accounts, { name, options }: Call): Result {
  if (accounts.row("group", name)) return refuse(9, `groupadd: group '${name}' already exists`);
  const gid = options.get("-g") ?? accounts.freeId("group", options.has("-r") ? 100 : 1000);
  accounts.edit("group", (rows) => [...rows, [name, "x", gid, ""]]);
  return {};
}

function groupmod(accounts: Accounts, { name, options }: Call): Result {
  const [before, after = before] = [accounts.gid(name) ?? "", options.get("-g")];
  accounts.set("group", name, { 2: after });
  accounts.edit("passwd", (rows) =>
    rows.map((row) => row.map((field, at) => (at === 3 && field === before ? after : field))),
  );
  return {};
}

function groupdel(accounts: Accounts, { name }: Call): Result {
  const gid = accounts.row("group", name)?.[2];
  const user = accounts.rows("passwd").find((row) => row[3] === gid);
  if (user) return refuse(8, `groupdel: cannot remove the primary group of user '${user[0]}'`);
  accounts.edit("group", (rows) => rows.filter((row) => row[0] !== name));
  return {};
}

function gpasswd(accounts: Accounts, { name, options }: Call): Result {
  const members = options.get("-M") ?? "";
  const unknown = members.split(",").find((member) => member !== "" && !accounts.row("passwd", member));
  if (unknown !== undefined) return refuse(3, `gpasswd: user '${unknown}' does not exist`);
  accounts.set("group", name, { 3: members });
  return {};
}

function chpasswd(accounts: Accounts, { stdin }: Call): Result {
  for (const line of stdin.split("\n").filter(Boolean)) {
    const colon = line.indexOf(":");
    accounts.set("shadow", line.slice(0, colon), { 1: line.slice(colon + 1), 2: today });
  }
  return {};
}

/** The day on which passwords are changed here. */
const today = "20500";

function chage(accounts: Accounts, { name, options }: Call): Result {
  for (const flag of ["-m", "-M", "-W", "-I"])
    if (options.get(flag) === "") return refuse(2, "chage: invalid numeric argument ''");
  const fields = ["-d", "-m", "-M", "-W", "-I"].map((flag) => options.get(flag)?.replace(/^-1$/, ""));
  accounts.set("shadow", name, Object.fromEntries(fields.map((value, at) => [at + 2, value])));
  return {};
}
