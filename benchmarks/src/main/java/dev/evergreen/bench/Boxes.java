package dev.evergreen.bench;

import de.erichseifert.vectorgraphics2d.VectorGraphics2D;
import de.erichseifert.vectorgraphics2d.svg.SVGProcessor;
import de.erichseifert.vectorgraphics2d.util.PageSize;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.knowm.xchart.BoxChartBuilder;
import org.knowm.xchart.style.Styler;

/**
 * Box plots side by side: of each row of values the median, the quartiles, and how far the rest
 * goes.
 */
record Boxes(String title, String y, Map<String, List<Double>> rows) {
  private static final int WIDTH = 900;
  private static final int HEIGHT = 420;

  /** Writes it as SVG. */
  void write(Path file) throws IOException {
    System.setProperty("java.awt.headless", "true");
    var chart =
        new BoxChartBuilder()
            .width(WIDTH)
            .height(HEIGHT)
            .title(title)
            .yAxisTitle(y)
            .theme(Styler.ChartTheme.Matlab)
            .build();
    chart.getStyler().setYAxisMin(0.0).setYAxisDecimalPattern("0.0#");
    // It asks them for nulls, which lists that cannot hold any refuse.
    rows.forEach((name, values) -> chart.addSeries(name, new ArrayList<>(values)));
    var drawing = new VectorGraphics2D();
    chart.paint(drawing, WIDTH, HEIGHT);
    var output = new ByteArrayOutputStream();
    new SVGProcessor()
        .getDocument(drawing.getCommands(), new PageSize(0, 0, WIDTH, HEIGHT))
        .writeTo(output);
    Files.createDirectories(file.toAbsolutePath().getParent());
    Files.writeString(
        file, output.toString(StandardCharsets.UTF_8).replaceAll("(\\.\\d)\\d+", "$1"));
  }
}
