import '../../cacher/src/index.ts';
