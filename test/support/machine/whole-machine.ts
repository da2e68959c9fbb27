/** A machine in memory with all that the types of resources use: accounts, crontabs, services, packages, git and tar. */
import { hostError } from "../../../lib/host/host-error.ts";
import type { MemoryHost, MemoryProgram } from "../../../lib/host/memory-host.ts";
import { lawFolder } from "../../../lib/testing/resource-laws.ts";
import { memoryShell } from "../memory-shell.ts";
import { accountPrograms, prepareAccounts } from "./accounts.ts";
import { AptMachine } from "./apt.ts";
import { createCrontab } from "./crontab.ts";
import { gitPrograms, type ModelRepository } from "./git.ts";
import { kernelPrograms, prepareKernel } from "./kernel.ts";
import { modelTar } from "./tar.ts";

const commit = "a".repeat(40);

/** The repository that is at an address and, once something is there, at a path of the machine. */
const repository: ModelRepository = {
  refs: { HEAD: commit },
  commits: { [commit]: { page: "one" } },
};

/** Address of a git repository that the machine reaches. */
export const repositoryUrl = "https://git.example/site.git";
/** Path where a git repository is as soon as there is a folder. */
export const repositoryPath = "/srv/site.git";

/**
 * The packages: "cron" brings crontab(1) and a service, "web" a user, a folder with a file, a service and the program
 * web-check, which looks for /srv/done, "tzdata" the zone Europe/Berlin.
 */
export function wholeMachine({ hasCron = false }: { hasCron?: boolean } = {}): MemoryHost {
  const files = (): MemoryHost["files"] => apt.host.files;
  const running = new Set<string>();
  let name = "here";
  const whenInstalled =
    (name: string, program: MemoryProgram): MemoryProgram =>
    (command, signal) => {
      if (!apt.installed.has(name)) throw hostError(command.argv[0], "ENOENT");
      return program(command, signal);
    };
  const crontab = createCrontab(new Map());
  const programs: Record<string, MemoryProgram> = {
    ...accountPrograms(() => apt.host),
    ...kernelPrograms(() => apt.host),
    ...servicePrograms(files, running),
    ...gitPrograms(files, {
      [repositoryUrl]: repository,
      get [repositoryPath]() {
        return files().stat(repositoryPath) ? repository : (undefined as never);
      },
    }),
    tar: (command) => modelTar(command, files()),
    "/bin/sh": (command) => memoryShell(command, files()),
    crontab: whenInstalled("cron", (command, signal) => {
      const user = command.argv[2] ?? "";
      if (command.argv[1] === "-u" && apt.host.users.userId(user) === null)
        return { exitCode: 1, stderr: `crontab:  user \`${user}' unknown\n` };
      return crontab(command, signal);
    }),
    "web-check": whenInstalled("web", () => ({ exitCode: files().stat("/srv/done") ? 0 : 1 })),
    uname: () => ({ stdout: `${name}\n` }),
    hostname: ({ argv }) => ((name = argv[1] ?? ""), {}),
    visudo: () => ({}),
    // Of a manager that is none of this machine's as long as it has no folder.
    dnf: () => ({}),
  };
  const brings = {
    cron: () => addService("cron", files()),
    web() {
      void programs["useradd"]?.({ argv: ["useradd", "-U", "-M", "web"] }, new AbortController().signal);
      files().makeDirectory("/etc/web", { mode: 0o755 });
      files().writeFile("/etc/web/web.conf", Buffer.from("port 80\n"), { mode: 0o644 });
      files().writeFile("/etc/web/default", Buffer.from("welcome\n"), { mode: 0o644 });
      addService("web", files());
    },
    tzdata() {
      for (const folder of ["/usr/share", "/usr/share/zoneinfo", "/usr/share/zoneinfo/Europe"])
        files().makeDirectory(folder, { mode: 0o755 });
      files().writeFile("/usr/share/zoneinfo/Europe/Berlin", Buffer.from("TZif"), { mode: 0o644 });
    },
  };
  const archive = { cron: ["3.0"], web: ["1.0"], tzdata: ["2026a"] };
  const apt: AptMachine = new AptMachine({ archive, brings, programs });
  prepare(apt.host);
  if (hasCron) apt.install("cron", "3.0");
  return apt.host;
}

function prepare(host: MemoryHost): void {
  prepareAccounts(host);
  prepareKernel(host);
  const folders = [
    "/home",
    "/root",
    "/srv",
    "/etc/init.d",
    "/etc/rc2.d",
    "/etc/apt",
    "/etc/apt/sources.list.d",
  ];
  for (const folder of folders) host.files.makeDirectory(folder, { mode: 0o755 });
  if (!host.files.stat(lawFolder)) host.files.makeDirectory(lawFolder, { mode: 0o755 });
  addService("ssh", host.files);
}

function addService(name: string, files: MemoryHost["files"]): void {
  files.writeFile(`/etc/init.d/${name}`, Buffer.from("#!/bin/sh\n"), { mode: 0o755 });
}

/** service(8) and update-rc.d(8) as Debian has them without systemd. */
function servicePrograms(
  files: () => MemoryHost["files"],
  running: Set<string>,
): Record<string, MemoryProgram> {
  return {
    service({ argv: [, name = "", verb = ""] }) {
      if (verb === "status") return { exitCode: running.has(name) ? 0 : 3 };
      if (!files().stat(`/etc/init.d/${name}`))
        return { exitCode: 1, stderr: `${name}: unrecognized service\n` };
      if (verb === "stop") running.delete(name);
      else running.add(name);
      return {};
    },
    "update-rc.d"({ argv: [, name = "", verb = ""] }) {
      if (!files().stat(`/etc/init.d/${name}`)) return { exitCode: 1, stderr: "no such init script\n" };
      const link = `/etc/rc2.d/S01${name}`;
      if (verb === "enable") files().makeSymlink(link, `../init.d/${name}`);
      else if (verb === "disable" && files().stat(link)) files().removeFile(link);
      return {};
    },
  };
}
