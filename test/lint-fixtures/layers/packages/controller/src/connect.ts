import '../../client/src/index.ts';
import '../../cacher/src/index.ts';
