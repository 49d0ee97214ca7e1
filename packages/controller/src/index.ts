export {
  type CorrelatedEvent,
  EventCorrelator,
  type EventCorrelatorOptions,
  type EventDraft,
  type InvolvedObject,
  type WrittenEvent,
} from './events/event-correlator.ts';
export { type EventMessage, EventRecorder, type EventRecorderOptions } from './events/event-recorder.ts';
export {
  type Reconcile,
  type ReconcileContext,
  ReconcileLoop,
  type ReconcileLoopOptions,
  type ReconcileOutcome,
  type ReconcileRequest,
  type ReconcileResult,
  TerminalError,
} from './reconcile-loop.ts';
