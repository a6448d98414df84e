package dev.evergreen.bench;

import de.erichseifert.vectorgraphics2d.VectorGraphics2D;
import de.erichseifert.vectorgraphics2d.svg.SVGProcessor;
import de.erichseifert.vectorgraphics2d.util.PageSize;
import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * Panels side by side in which every measured value is a point. Lines join, for each place on the x
 * axis, the medians (solid), the least (dotted) and the greatest (dashed).
 *
 * @param columns how many panels stand in a row
 * @param sameScale whether all have the same y axis, so that they can be compared
 */
record Figure(int columns, boolean sameScale, List<Panel> panels) {

  private static final int WIDTH = 480;
  private static final int HEIGHT = 330;

  /** Distinct for the colour-blind, too (Okabe and Ito). */
  private static final List<Color> COLORS =
      List.of(
          new Color(0x0072B2),
          new Color(0xD55E00),
          new Color(0x009E73),
          new Color(0xCC79A7),
          new Color(0xE69F00),
          new Color(0x56B4E9));

  /** One value: where it stands on the x axis, and how high. */
  record Point(double x, double y) {}

  /** Values that belong together. */
  record Series(String name, List<Point> points) {

    /** The spreads of all values that stand at the same place, by place. */
    Map<Double, Spread> spreads() {
      var byPlace = new TreeMap<Double, List<Double>>();
      for (var point : points) {
        byPlace.computeIfAbsent(point.x, x -> new ArrayList<>()).add(point.y);
      }
      var spreads = new TreeMap<Double, Spread>();
      byPlace.forEach((x, values) -> spreads.put(x, Spread.of(values)));
      return spreads;
    }
  }

  /** A diagram. On a logarithmic axis values of 0 and less are left out. */
  record Panel(
      String title,
      String x,
      String y,
      boolean logarithmicX,
      boolean logarithmicY,
      List<Series> series) {

    Panel {
      series =
          series.stream()
              .map(
                  each ->
                      new Series(
                          each.name,
                          each.points.stream()
                              .filter(
                                  point ->
                                      (!logarithmicX || point.x > 0)
                                          && (!logarithmicY || point.y > 0))
                              .toList()))
              .filter(each -> !each.points.isEmpty())
              .toList();
    }

    /** A chart whose y axis has room for both values. */
    private XYChart chart(double least, double greatest) {
      var chart =
          new XYChartBuilder()
              .width(WIDTH)
              .height(HEIGHT)
              .title(title)
              .xAxisTitle(x)
              .yAxisTitle(y)
              .theme(Styler.ChartTheme.Matlab)
              .build();
      var styler = chart.getStyler();
      styler.setBaseFont(new Font(Font.SANS_SERIF, Font.PLAIN, 11));
      styler.setChartTitleFont(new Font(Font.SANS_SERIF, Font.BOLD, 12));
      styler.setAxisTitleFont(new Font(Font.SANS_SERIF, Font.PLAIN, 11));
      styler.setAxisTickLabelsFont(new Font(Font.SANS_SERIF, Font.PLAIN, 10));
      styler.setLegendFont(new Font(Font.SANS_SERIF, Font.PLAIN, 10));
      styler.setLegendPosition(Styler.LegendPosition.OutsideS);
      styler.setLegendLayout(Styler.LegendLayout.Horizontal);
      styler.setLegendSeriesLineLength(12);
      styler.setLegendPadding(6);
      // Dots would be a shape each.
      styler.setPlotGridLinesStroke(new BasicStroke(0.4f));
      styler.setPlotGridLinesColor(new Color(0xD8D8D8));
      styler.setXAxisLogarithmic(logarithmicX);
      styler.setYAxisLogarithmic(logarithmicY);
      styler.setYAxisMin(least);
      styler.setYAxisMax(greatest);
      styler.setXAxisDecimalPattern("#,##0.##");
      styler.setYAxisDecimalPattern("#,##0.##");
      for (int i = 0; i < series.size(); i++) {
        draw(chart, series.get(i), COLORS.get(i % COLORS.size()));
      }
      return chart;
    }

    private static void draw(XYChart chart, Series series, Color color) {
      var spreads = series.spreads();
      line(chart, series.name, spreads, Spread::median, color, null);
      line(chart, series.name + ", least", spreads, Spread::least, color, new float[] {1, 3});
      line(chart, series.name + ", greatest", spreads, Spread::greatest, color, new float[] {5, 3});
      var points =
          chart.addSeries(
              series.name + ", runs",
              series.points.stream().map(Point::x).toList(),
              series.points.stream().map(Point::y).toList());
      points.setXYSeriesRenderStyle(XYSeries.XYSeriesRenderStyle.Scatter);
      points.setMarker(SeriesMarkers.CIRCLE).setMarkerColor(color).setShowInLegend(false);
    }

    private static void line(
        XYChart chart,
        String name,
        Map<Double, Spread> spreads,
        ToDoubleFunction<Spread> value,
        Color color,
        float @Nullable [] dashes) {
      var line =
          chart.addSeries(
              name,
              List.copyOf(spreads.keySet()),
              spreads.values().stream().map(value::applyAsDouble).toList());
      line.setMarker(SeriesMarkers.NONE).setLineColor(color);
      line.setLineStyle(
          new BasicStroke(
              dashes == null ? 1.5f : 0.8f,
              BasicStroke.CAP_BUTT,
              BasicStroke.JOIN_ROUND,
              1,
              dashes,
              0));
      line.setShowInLegend(dashes == null);
    }
  }

  /** Writes it as SVG. */
  void write(Path file) throws IOException {
    System.setProperty("java.awt.headless", "true");
    var drawing = new VectorGraphics2D();
    for (int i = 0; i < panels.size(); i++) {
      var panel = panels.get(i);
      var values = values(sameScale ? panels : List.of(panel));
      double least = panel.logarithmicY ? values.getMin() : 0;
      var part = drawing.create(i % columns * WIDTH, i / columns * HEIGHT, WIDTH, HEIGHT);
      panel.chart(least, values.getMax()).paint((Graphics2D) part, WIDTH, HEIGHT);
      part.dispose();
    }
    int rows = (panels.size() + columns - 1) / columns;
    var page = new PageSize(0, 0, (double) columns * WIDTH, (double) rows * HEIGHT);
    var output = new ByteArrayOutputStream();
    new SVGProcessor().getDocument(drawing.getCommands(), page).writeTo(output);
    // Letters come as outlines with ten digits each, of which nobody sees more than one.
    Files.writeString(
        file, output.toString(StandardCharsets.UTF_8).replaceAll("(\\.\\d)\\d+", "$1"));
  }

  private static DoubleSummaryStatistics values(List<Panel> panels) {
    return panels.stream()
        .flatMap(panel -> panel.series.stream())
        .flatMap(series -> series.points.stream())
        .mapToDouble(Point::y)
        .summaryStatistics();
  }
}
