export { DelayingQueue, type DelayingQueueOptions } from './delaying-queue.ts';
export type { PriorityOptions } from './queue-order.ts';
export {
  BucketRateLimiter,
  defaultControllerRateLimiter,
  ExponentialFailureRateLimiter,
  FastSlowRateLimiter,
  MaxOfRateLimiter,
  MaxWaitRateLimiter,
  type RateLimiter,
  type RateLimiterSetting,
} from './rate-limiter.ts';
export { RateLimitingQueue, type RateLimitingQueueOptions } from './rate-limiting-queue.ts';
export { WorkQueue, type WorkQueueObserver, type WorkQueueOptions } from './work-queue.ts';
