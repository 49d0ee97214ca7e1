// PodStreams: a client's connections into a pod: commands and ports. Called by client.ts, which documents each method.
import type { Duplex } from 'node:stream';
import { type CallOptions, isForbidden, type ObjectTarget } from '@kapstan/api';
import {
  checkedElsewhere,
  type OptionTable,
  requireFunction,
  requireObject,
  requireOptions,
} from '@kapstan/api/internal';
import { callOptionTable } from './call-option-table.ts';
import type { ResolvedClientOptions } from './config/client-config.ts';
import { attachPath, execPath, podPath, portForwardPath } from './pod-stream-path.ts';
import { type EndForward, PortForward, type PortForwardOptions } from './streaming/port-forward.ts';
import { portForwardProtocols, portStream } from './streaming/port-stream.ts';
import {
  type AttachOptions,
  type ExecOptions,
  RemoteCommand,
  remoteCommandProtocols,
} from './streaming/remote-command.ts';
import { limitsOf } from './subresources.ts';
import { bodyText, type Transport } from './transport/transport.ts';
import { TransportError } from './transport/transport-error.ts';
import type { OpenWebSocket } from './transport/web-socket-handshake.ts';

const forwardTable: OptionTable<PortForwardOptions> = {
  ...callOptionTable,
  // PortForward parses both.
  ports: checkedElsewhere,
  addresses: checkedElsewhere,
  onConnectionError: requireFunction,
};

const pods = { group: '', resource: 'pods' };

export interface PodStreamsPorts {
  readonly transport: Transport;
  readonly options: ResolvedClientOptions;
}

export class PodStreams {
  readonly #transport: Transport;
  readonly #options: ResolvedClientOptions;
  /** One entry for each port-forward, from its start to its end. */
  readonly #forwards = new Set<EndForward>();

  constructor({ transport, options }: PodStreamsPorts) {
    this.#transport = transport;
    this.#options = options;
  }

  exec(target: ObjectTarget, options: ExecOptions): Promise<RemoteCommand> {
    return this.#remoteCommand(execPath(target, options), options);
  }

  attach(target: ObjectTarget, options: AttachOptions): Promise<RemoteCommand> {
    return this.#remoteCommand(attachPath(target, options), options);
  }

  async dialPort(target: ObjectTarget, port: number, options: CallOptions): Promise<Duplex> {
    requireObject(options, 'options, such as { signal },');
    requireOptions(options, callOptionTable, 'dialPort');
    const { signal } = options;
    const opened = await this.#upgrade(portForwardPath(target, port), options, portForwardProtocols);
    return portStream({ opened, clock: this.#options.clock, signal, port });
  }

  async portForward(target: ObjectTarget, options: PortForwardOptions): Promise<PortForward> {
    requireObject(options, 'options, such as { ports },');
    requireOptions(options, forwardTable, 'portForward');
    const { onConnectionError } = options;
    const { signal: _, ...limits } = limitsOf(options);
    const log = (error: Error): void => this.#options.logger.warn('a forwarded connection failed', { error });
    return await PortForward.listen({
      dial: (port, signal) => this.dialPort(target, port, { ...limits, signal }),
      check: () => this.#checkPod(target, options),
      ends: this.#forwards,
      options,
      onConnectionError: onConnectionError ?? log,
    });
  }

  /** Ends the port-forwards; commands and connections to ports end with the transport. */
  async close(): Promise<void> {
    const request = 'port-forward';
    const reason = new TransportError({ code: 'ECANCELED', message: 'the client is closed', request });
    await Promise.all([...this.#forwards].map((end) => end(reason)));
  }

  // A user who may forward ports may lack the right to read the pod.
  async #checkPod(target: ObjectTarget, options: CallOptions): Promise<void> {
    const { signal, beforeAttempt, trace, timeoutMs = this.#options.timeoutMs } = options;
    const limits = { signal, beforeAttempt, trace, timeoutMs };
    try {
      await this.#transport.call({ method: 'GET', path: podPath(target), resource: pods }, limits, bodyText);
    } catch (error) {
      if (!isForbidden(error)) throw error;
    }
  }

  async #remoteCommand(path: string, options: AttachOptions): Promise<RemoteCommand> {
    const opened = await this.#upgrade(path, options, remoteCommandProtocols);
    return new RemoteCommand({ opened, clock: this.#options.clock, options });
  }

  #upgrade(path: string, options: CallOptions, protocols: readonly string[]): Promise<OpenWebSocket> {
    const { signal, beforeAttempt, trace, timeoutMs = this.#options.openTimeoutMs } = options;
    const limits = { signal, beforeAttempt, trace, timeoutMs };
    return this.#transport.upgrade({ method: 'GET', path, resource: pods }, limits, protocols);
  }
}
