// URLs of pods and of the subresources that become streams: exec, attach, portforward.
import { type ObjectTarget, type Resource, resource } from '@kapstan/api';
import {
  type OptionTable,
  optional,
  requireBoolean,
  requireObject,
  requireOptions,
  requireString,
} from '@kapstan/api/internal';
import { callOptionTable } from './call-option-table.ts';
import { requireTexts } from './config/config-checks.ts';
import { objectPath } from './request-path.ts';
import { type AttachOptions, askedStreams, type ExecOptions } from './streaming/remote-command.ts';

const attachTable: OptionTable<AttachOptions> = {
  ...callOptionTable,
  container: optional(requireString),
  stdin: optional(requireBoolean),
  stdout: optional(requireBoolean),
  stderr: optional(requireBoolean),
  tty: optional(requireBoolean),
};
const execTable: OptionTable<ExecOptions> = { ...attachTable, command: requireTexts };

const pod: Resource = resource({ group: '', version: 'v1', kind: 'Pod' });

/** Throws TypeError for options that contradict each other; the other two functions do so for names. */
export function execPath(target: ObjectTarget, options: ExecOptions): string {
  requireObject(options, 'options, such as { command },');
  requireOptions(options, execTable, 'exec');
  const { command } = options;
  if (command.length === 0) throw new TypeError('you must specify at least one command for the container');
  return objectPath(pod, target, { subresource: 'exec', query: { command, ...streamQuery(options) } });
}

export function attachPath(target: ObjectTarget, options: AttachOptions): string {
  requireObject(options, 'options, such as { stdin },');
  requireOptions(options, attachTable, 'attach');
  return objectPath(pod, target, { subresource: 'attach', query: streamQuery(options) });
}

export function podPath(target: ObjectTarget): string {
  return objectPath(pod, target);
}

export function portForwardPath(target: ObjectTarget, port: number): string {
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new TypeError(`a port is an integer from 1 to 65535, got ${port}`);
  return objectPath(pod, target, { subresource: 'portforward', query: { ports: port } });
}

function streamQuery(options: AttachOptions) {
  const { stdin, stdout, stderr, tty } = askedStreams(options);
  return {
    container: options.container,
    stdin: stdin || undefined,
    stdout: stdout || undefined,
    stderr: stderr || undefined,
    tty: tty || undefined,
  };
}
