// Documents

// Exports for inspected processes
export { type Inspection, InspectionError, numberOf, someOf } from './inspection.ts';
// Serving
export { InspectorHandler, type InspectorHandlerOptions } from './inspector-handler.ts';
export { type InspectorListener, type InspectorListenerOptions, startInspectorListener } from './inspector-listener.ts';
export {
  type InspectorAnswer,
  type InspectorRequest,
  InspectorRoutes,
  type InspectorRoutesOptions,
  inspectorHeaders,
  inspectorRoot,
} from './inspector-routes.ts';
export type {
  BehindWatch,
  CacheSection,
  ElectionSection,
  FailingKey,
  InformerSection,
  KeyDue,
  KeySince,
  LoopQueueSection,
  LoopSection,
  Overview,
  QueueSection,
  RequestItem,
  RequestSection,
  RequestStep,
  SectionName,
  Sections,
  Some,
  StoreSection,
  UnseenWriteItem,
  WatcherSection,
  WatchingUser,
} from './overview.ts';
export { inspectorApiVersion } from './overview.ts';
export type {
  ChangedObject,
  KeyDocument,
  KeyList,
  KeyState,
  KeySummary,
  RunItem,
  RunWrite,
  RunWrites,
  WakeCause,
  WakeCauses,
} from './run-documents.ts';
