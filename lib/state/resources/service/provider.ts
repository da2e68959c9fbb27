/** What an init system does for the `service` type; each is one small file beside this one. */
import type { Machine } from "../shared/command.ts";

/** A service as it stands. */
export interface ServiceState {
  /** Null where the machine does not know the service. */
  running: boolean | null;
  enabled: boolean | null;
  masked: boolean;
  /** What it is called itself, where it was asked for by another name, which may go away when it is disabled. */
  ownName?: string;
  /** Why it can't be enabled or disabled, where it can't. */
  fixed?: string;
}

/** What can be done to a service. */
export type ServiceVerb = "start" | "stop" | "reload" | "restart" | "enable" | "disable" | "mask" | "unmask";

/** One init system. */
export interface ServiceProvider {
  readonly masks: boolean;
  /** Whether it is the one that started the machine. */
  isHere(machine: Machine): boolean;
  /** What stands. Reads only. */
  query(name: string, machine: Machine): Promise<ServiceState>;
  act(verb: ServiceVerb, name: string, machine: Machine): Promise<void>;
  /** Names the present run of a service that the agent runs in; null = it does not, as far as can be told. Reads only. */
  ownRun(name: string, machine: Machine): Promise<string | null>;
  /** Has a service restarted without waiting for it: who asks is a part of it. */
  orderRestart(name: string, machine: Machine): Promise<void>;
}

/** A service that the machine does not know, perhaps not yet. */
export const unknownService: ServiceState = { running: null, enabled: null, masked: false };
