/**
 * The init systems on machines in memory, with services that can be looked into. They answer as systemd 252, OpenRC 0.45 and
 * the scripts of sysvinit do on Debian 12, where the real tests run them.
 */
import type { HostCommandResult } from "../../../lib/host/host.ts";
import { MemoryHost, type MemoryProgram } from "../../../lib/host/memory-host.ts";
import { lawFolder } from "../../../lib/testing/resource-laws.ts";

/** A service of the model. */
export interface ModelService {
  running: boolean;
  enabled: boolean;
  masked: boolean;
  /** systemd: the mask is gone after a restart of the machine. */
  maskedUntilRestart?: boolean;
  /** systemd: another name, which is there while the service is enabled. */
  alias?: string;
  /** systemd: the file that it is linked to; it is known while the link is there. */
  linkedTo?: string;
  /** systemd: its package was purged; it is known for as long as it is masked. */
  purged?: boolean;
  /** Whether its file is newer than what systemd has read. */
  stale: boolean;
  /** Has no [Install] section. */
  fixed: boolean;
}

/** What is asked of a unit, in the order in which systemctl answers. */
const shown = [
  "Id",
  "LoadState",
  "ActiveState",
  "FragmentPath",
  "UnitFileState",
  "NeedDaemonReload",
  "ControlGroup",
  "InvocationID",
];

const unitFolder = "/etc/systemd/system";
const unitPath = (name: string): string => `${unitFolder}/${name}.service`;

const failed = (exitCode: number, message: string): Partial<HostCommandResult> => ({
  exitCode,
  stderr: `${message}\n`,
});

/** A mask stands without what it masks. */
const isPurged = ({ purged, masked }: ModelService): boolean => purged === true && !masked;

/** A machine with one init system. */
export class ServiceMachine {
  readonly services = new Map<string, ModelService>();
  /** The verbs that were carried out, each with its service. */
  readonly commands: string[] = [];
  readonly host: MemoryHost;
  /** The agent's own process. */
  readonly own = { line: [{ pid: 1000, begun: 1 }], cgroups: ["/user.slice/session-1.scope"] };
  /** How often each was started since the machine was. */
  readonly #starts = new Map<string, number>();
  /** Called with each verb before it is carried out. */
  acted: (command: string) => void = () => {};

  constructor(init: "systemd" | "sysvinit" | "openrc") {
    const programs = { systemd: this.#systemd(), sysvinit: this.#sysvinit(), openrc: this.#openrc() }[init];
    this.host = new MemoryHost({ programs, ownProcess: this.own });
    const folders = {
      systemd: ["/run", "/run/systemd", "/run/systemd/system", "/etc", "/etc/systemd", unitFolder],
      sysvinit: ["/etc", "/etc/init.d", "/etc/rc2.d", "/etc/rc3.d"],
      openrc: ["/etc", "/etc/init.d", "/etc/runlevels", "/etc/runlevels/default", "/run", "/run/openrc"],
    }[init];
    for (const path of [lawFolder, ...folders]) this.host.files.makeDirectory(path, {});
    if (init === "openrc") this.host.files.writeFile("/run/openrc/softlevel", Buffer.from("default"), {});
  }

  add(name: string, more: Partial<ModelService> = {}): ModelService {
    const service = {
      running: false,
      enabled: false,
      masked: false,
      stale: false,
      fixed: false,
      ...more,
    };
    this.services.set(name, service);
    if (this.host.files.stat("/etc/init.d"))
      this.host.files.writeFile(`/etc/init.d/${name}`, new Uint8Array(), { mode: 0o755 });
    return service;
  }

  /** Starts a service anew, as nobody asked for by a program. */
  start(name: string): void {
    this.#starts.set(name, this.#startsOf(name) + 1);
  }

  /** Has the agent run in a service. */
  enter(name: string): void {
    const starts = this.#startsOf(name);
    const [first] = this.own.line;
    if (first) Object.assign(first, { pid: 1000 + starts, begun: starts });
    // It has groups of its own for programs.
    this.own.cgroups = [`/system.slice/${name}.service/agent`];
    if (!this.host.files.stat("/run")) this.host.files.makeDirectory("/run", {});
    const noted = this.host.files.stat("/run/openrc") ? `/run/${name}-agent.pid` : `/run/${name}.pid`;
    this.host.files.writeFile(noted, Buffer.from(`${1000 + starts}\n`), {});
    if (!this.host.files.stat("/run/openrc")) return;
    for (const path of ["/run/openrc/options", `/run/openrc/options/${name}`])
      if (!this.host.files.stat(path)) this.host.files.makeDirectory(path, {});
    this.host.files.writeFile(`/run/openrc/options/${name}/pidfile`, Buffer.from(noted), {});
  }

  #startsOf(name: string): number {
    return this.#starts.get(name) ?? 1;
  }

  #do(verb: string, name: string): Partial<HostCommandResult> {
    this.acted(`${verb} ${name}`);
    this.commands.push(`${verb} ${name}`);
    const service = this.#find(name);
    if (!service) return failed(1, `${name} is unknown to the model`);
    if (verb === "start" || verb === "restart") this.start(name);
    if (verb === "start" || verb === "restart") service.running = true;
    else if (verb === "stop") service.running = false;
    else if (verb === "enable" || verb === "disable") service.enabled = verb === "enable";
    else if (verb === "mask" || verb === "unmask") service.masked = verb === "mask";
    return {};
  }

  #find(name: string): ModelService | undefined {
    const others = [...this.services.values()];
    return this.services.get(name) ?? others.find(({ alias, enabled }) => enabled && alias === name);
  }

  #systemctl(verb: string, name: string, runtime: boolean): Partial<HostCommandResult> {
    const unit = `${name}.service`;
    const service = this.#find(name);
    const changesFile = verb === "enable" || verb === "disable";
    if (!service || isPurged(service)) {
      if (changesFile) return failed(1, `Failed to ${verb} unit: Unit file ${unit} does not exist.`);
      return failed(
        5,
        `Failed to ${verb} ${unit}: Unit ${unit} not ${verb === "stop" ? "loaded" : "found"}.`,
      );
    }
    if (service.masked && changesFile)
      return failed(1, `Failed to ${verb} unit: Unit file ${unit} is masked.`);
    if (service.masked && verb === "start")
      return failed(1, `Failed to start ${unit}: Unit ${unit} is masked.`);
    // The one kind of mask is not the other's.
    if (verb === "unmask" && runtime !== (service.maskedUntilRestart ?? false)) return {};
    if (verb === "disable" && service.linkedTo !== undefined) this.host.files.removeFile(unitPath(name));
    return this.#do(verb, name);
  }

  #systemd(): Record<string, MemoryProgram> {
    const show = (name: string): string => {
      const service = this.#find(name);
      const isGone = service?.linkedTo !== undefined && !this.host.files.stat(unitPath(name));
      if (!service || isGone || isPurged(service))
        return print([`${name}.service`, "not-found", "inactive", "", "", "no", "", ""]);
      const { running, enabled, masked, maskedUntilRestart, stale, fixed, linkedTo } = service;
      const mask = maskedUntilRestart ? "masked-runtime" : "masked";
      const own = [...this.services].find(([, each]) => each === service)?.[0];
      return print([
        `${own}.service`,
        masked ? "masked" : "loaded",
        running ? "active" : "inactive",
        linkedTo === undefined ? `/lib/systemd/system/${own}.service` : unitPath(name),
        masked ? mask : fixed ? "static" : enabled ? "enabled" : "disabled",
        stale ? "yes" : "no",
        running ? `/system.slice/${own}.service` : "",
        running ? String(this.#startsOf(own ?? "")).padStart(32, "0") : "",
      ]);
    };
    const print = (values: readonly string[]): string =>
      shown.map((property, index) => `${property}=${values[index]}\n`).join("");
    return {
      systemctl: ({ argv }) => {
        const [, verb = ""] = argv;
        const name = (argv.at(-1) ?? "").replace(/\.service$/, "");
        if (verb === "show") return { stdout: show(name) };
        if (verb === "link") {
          this.commands.push(`link ${name}`);
          const path = `${name}.service`;
          this.host.files.makeSymlink(unitPath(path.slice(path.lastIndexOf("/") + 1, -8)), path);
          return {};
        }
        if (verb !== "daemon-reload") return this.#systemctl(verb, name, argv.includes("--runtime"));
        this.commands.push("daemon-reload");
        for (const service of this.services.values()) service.stale = false;
        return {};
      },
    };
  }

  /** What starts a program that goes on without it. */
  #shell(program: MemoryProgram): MemoryProgram {
    return (command, signal) => {
      const [, , script, , ...argv] = command.argv;
      if (!script?.startsWith("nohup ")) return failed(127, "the model knows no such script");
      return program({ ...command, argv: argv as [string, ...string[]] }, signal);
    };
  }

  #sysvinit(): Record<string, MemoryProgram> {
    const programs: Record<string, MemoryProgram> = {
      service: ({ argv: [, name = "", verb = ""] }) => {
        if (verb === "status") return { exitCode: this.services.get(name)?.running ? 0 : 3 };
        if (!this.services.has(name)) return failed(1, `${name}: unrecognized service`);
        return this.#do(verb, name);
      },
      "update-rc.d": ({ argv: [, name = "", verb = ""] }) => {
        const { files } = this.host;
        if (!this.services.has(name))
          return failed(1, `update-rc.d: error: unable to read /etc/init.d/${name}`);
        const [here, there] = verb === "disable" ? ["S", "K"] : ["K", "S"];
        let isNew = false;
        for (const level of ["/etc/rc2.d", "/etc/rc3.d"]) {
          if (verb === "defaults") {
            const stands = files.list(level).some((link) => link.endsWith(name));
            if (!stands) files.makeSymlink(`${level}/S01${name}`, `../init.d/${name}`);
            isNew ||= !stands;
          } else if (files.stat(`${level}/${here}01${name}`)) {
            files.removeFile(`${level}/${here}01${name}`);
            files.makeSymlink(`${level}/${there}01${name}`, `../init.d/${name}`);
          }
        }
        // New links of the defaults start it, as those that "enable" renames do.
        if (verb === "defaults") return isNew ? this.#do("enable", name) : {};
        return this.#do(verb, name);
      },
    };
    return { ...programs, "/bin/sh": this.#shell(programs["service"]!) };
  }

  #openrc(): Record<string, MemoryProgram> {
    const programs: Record<string, MemoryProgram> = {
      "rc-service": ({ argv: [, , name = "", verb = ""] }) => {
        if (!this.services.has(name)) return failed(1, ` * rc-service: service \`${name}' does not exist`);
        if (verb === "status") return { exitCode: this.services.get(name)?.running ? 0 : 3 };
        return this.#do(verb, name);
      },
      "rc-update": ({ argv: [, verb = "", name = "", ...levels] }) => {
        const { files } = this.host;
        if (!this.services.has(name)) return failed(1, ` * rc-update: service \`${name}' does not exist`);
        for (const level of levels) {
          const path = `/etc/runlevels/${level}/${name}`;
          if (verb === "add") files.makeSymlink(path, `/etc/init.d/${name}`);
          else files.removeFile(path);
        }
        return this.#do(verb === "add" ? "enable" : "disable", name);
      },
    };
    return { ...programs, "/bin/sh": this.#shell(programs["rc-service"]!) };
  }
}
