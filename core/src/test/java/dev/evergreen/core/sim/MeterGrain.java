package dev.evergreen.core.sim;

import dev.evergreen.core.GrainContext;

final class MeterGrain implements Meter {

  private final GrainContext<String> context;
  private final App app;

  MeterGrain(GrainContext<String> context, App app) {
    this.context = context;
    this.app = app;
    app.onMeterChange(context.key(), context::markChanged);
  }

  @Override
  public long reading() {
    app.executed("Meter/" + context.key());
    app.noise();
    return app.meter(context.key());
  }
}
